// host-exec and host-agent: programs on the other hosts of a cluster, without sshd.
#pragma once

#include <string>

#include "client/cli/commands.h"
#include "client/host/agent.h"

namespace kedge::cli {

// Runs a command on another host through its agent, with this process's stdin, stdout and stderr. Returns its exit
// status, as ssh does.
int host_exec(const Options& options);
// The agent, until SIGTERM; or with --new-key, makes the key of a cluster.
int host_agent(const Options& options);
// Where the agent listens: ADDRESS:PORT, :PORT or [ADDRESS]:PORT. Errors: kInvalidValue.
void set_place(host::AgentOptions& agent, const std::string& text);

}   // namespace kedge::cli
