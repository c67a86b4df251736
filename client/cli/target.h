// Which server a command talks to.
#pragma once

#include <optional>
#include <string>

#include "client/cli/commands.h"
#include "kedge/session.h"

namespace kedge::cli {

// --url, or KEDGE_URL, or the machine that `kedge up` made current, or http://127.0.0.1:5334. A rented machine's lease is renewed.
Session connect_server(const Options& options);
std::string server_url(const Options& options);
bool speaks_to_current_machine(const Options& options);   // the third of these

// What the rented machine has cost so far: "cost so far 0.12 USD: aws g6.xlarge for 10 min", or with --json cost_json(). Empty when the
// server is not a rented machine.
std::string cost_line(const Options& options);

}  // namespace kedge::cli
