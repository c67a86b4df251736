// kedged check-cluster: the ranks of a cluster, started, compared and measured without a server.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "server/config.h"

namespace kedge::server {

// If `arguments` (without the program's name) begin with check-cluster: becomes the launcher of the ranks, which says
// what it found and ends with 0, or with 1 after naming problems. --json and all settings may follow. Returns an exit
// code where it cannot: 69 without a launcher or MPI, 78 for wrong settings. Unset: it is another command.
std::optional<int> run_cluster_check(const std::vector<std::string>& arguments, const Environment& environment);

// What another process of this program says of itself as check-cluster, with these arguments and this environment: for
// a server that runs. Errors: kUnavailable with its words when the ranks do not come together, and at a stop.
std::string cluster_report(const std::vector<std::string>& arguments, bool as_json, std::stop_token stop);

}   // namespace kedge::server
