// The arguments of the subcommands: one function for each, or for several that take the same.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli::arguments {

void nothing(CLI::App& app, Options& options);

void spec(CLI::App& app, Options& options);
void spec_and_machine(CLI::App& app, Options& options);
void specs_and_servers(CLI::App& app, Options& options);
void job_id(CLI::App& app, Options& options);
void watched_job(CLI::App& app, Options& options);
void job_filter(CLI::App& app, Options& options);
void job_artifact(CLI::App& app, Options& options);

void model(CLI::App& app, Options& options);
void registry(CLI::App& app, Options& options);
void rows(CLI::App& app, Options& options);
void estimator_name(CLI::App& app, Options& options);
void shown_data(CLI::App& app, Options& options);
void uploads(CLI::App& app, Options& options);
void checks(CLI::App& app, Options& options);

void remote_command(CLI::App& app, Options& options);
void host_agent(CLI::App& app, Options& options);
void wish(CLI::App& app, Options& options);
void wish_or_dry_run(CLI::App& app, Options& options);
void machine_or_all(CLI::App& app, Options& options);
void machine_action(CLI::App& app, Options& options);

void page_of_server(CLI::App& app, Options& options);
void server_or_none(CLI::App& app, Options& options);
void new_server(CLI::App& app, Options& options);
void server_name(CLI::App& app, Options& options);

void command_names(CLI::App& app, Options& options);
void shell(CLI::App& app, Options& options);

}   // namespace kedge::cli::arguments
