// The subcommands of kedge. One row each.
#include "client/cli/commands.h"

#include <CLI/CLI.hpp>

#include "client/cli/job_commands.h"
#include "client/cli/server_commands.h"

namespace kedge::cli {
namespace {

void spec(CLI::App& app, Options& options) {
  app.add_option("spec", options.argument, "The job as a JSON file; - reads stdin")->required();
}
void job_id(CLI::App& app, Options& options) { app.add_option("job", options.argument, "The job's id")->required(); }
void watched_job(CLI::App& app, Options& options) {
  job_id(app, options);
  app.add_option("--after", options.after, "Only events after this number")->check(CLI::NonNegativeNumber);
}
void job_filter(CLI::App& app, Options& options) {
  app.add_option("--state", options.state, "Only jobs in this state (queued, running, succeeded ...)");
  app.add_option("--limit", options.limit, "How many, newest first")->check(CLI::Range(1, 500));
}
void estimator_name(CLI::App& app, Options& options) {
  app.add_option("name", options.argument, "One estimator, with its parameters; else all are listed");
}
void uploads(CLI::App& app, Options& options) {
  app.add_option("file", options.upload, "Upload this file; - reads stdin. Without it the uploads are listed");
  app.add_option("--name", options.name, "What to call it; else the file's name");
  app.add_option("--format", options.format, "csv, arff or npy; else by the name's ending");
  app.add_option("--delete", options.remove, "Forget this upload");
}
void nothing(CLI::App&, Options&) {}

constexpr Command kCommands[] = {
    {"run", "Submit a job, follow it, print its result", spec, run},
    {"submit", "Submit a job and print its id", spec, submit},
    {"watch", "Follow a job that was submitted before", watched_job, watch},
    {"jobs", "List jobs, newest first", job_filter, jobs},
    {"result", "Wait for a job and print its result", job_id, result},
    {"cancel", "Cancel a job", job_id, cancel},
    {"estimators", "List the estimators, or show one", estimator_name, estimators},
    {"datasets", "Upload, list or delete data sets of your own", uploads, datasets},
    {"doctor", "Check the server and its devices", nothing, doctor},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace kedge::cli
