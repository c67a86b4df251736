// Which server a command talks to.
#pragma once

#include <optional>
#include <string>

#include "client/cli/commands.h"
#include "kedge/session.h"

namespace kedge::cli {

// --server or --url, or KEDGE_URL, or the one that the last `kedge up` or `kedge use` made current, or
// http://127.0.0.1:5334. A rented machine's lease is renewed.
Session connect_server(const Options& options);
Session connect_kept(const std::string& name);   // a server that `kedge login` has kept
std::string server_url(const Options& options);
bool speaks_to_current_machine(const Options& options);   // to a rented one

// The current server is one name in the state directory, a machine's or that of a saved server; empty: none is.
std::string current_machine_name();
std::string current_kept_server();
void use_kept_server(const std::string& name);
void use_machine(const std::string& id);   // empty: none

// "KEDGE_URL is ..., so commands go there and not to NAME ..." where the environment hides what was just made current;
// else empty.
std::string hidden_by_environment(const std::string& name);

// What the rented machine has cost so far: "cost so far 0.12 USD: aws g6.xlarge for 10 min", or with --json
// cost_json(). Empty when the server is not a rented machine.
std::string cost_line(const Options& options);

}   // namespace kedge::cli
