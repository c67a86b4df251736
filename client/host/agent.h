// The agent of a host: starts the programs of a cluster for kedge host-exec.
#pragma once

#include <string>
#include <vector>

#include "client/host/key.h"

namespace kedge::host {

struct AgentOptions {
  std::string address = "0.0.0.0";                // to listen at
  int port = 0;                                   // 0: any
  std::vector<std::string> allowed = {"orted"};   // programs: names on PATH, or paths
  HostKey key;
};

// Listens, says where in a line on stdout, and serves each connection in a process of its own until SIGTERM or SIGINT.
// Then the commands that run are ended, and it returns 0. Errors: kNotFound for an allowed program that is not there,
// kUnavailable when it cannot listen.
int run_agent(const AgentOptions& options);

}   // namespace kedge::host
