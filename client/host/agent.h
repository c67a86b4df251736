// The agent of a host: starts the programs of a cluster for kedge host-exec.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "client/host/key.h"

namespace kedge::host {

struct AgentOptions {
  std::string address = "0.0.0.0";                // to listen at
  int port = 0;                                   // 0: any
  std::vector<std::string> allowed = {"orted"};   // programs: names on PATH, or paths
  HostKey key;
  std::chrono::seconds idle_end{0};   // without a connection for so long, it ends; 0: never
  std::chrono::seconds life_end{0};   // it ends after so long, whatever runs; 0: never
};

// Listens, says where in a line on stdout, and serves each connection in a process of its own until SIGTERM, SIGINT or
// an end. Then the commands that run are ended, and it returns 0. Errors: kNotFound for an allowed program that is not
// there, kUnavailable when it cannot listen.
int run_agent(const AgentOptions& options);

}   // namespace kedge::host
