// Runs a command on another host of the cluster, through the agent there.
#pragma once

#include <string>
#include <vector>

#include "client/host/key.h"

namespace kedge::host {

inline constexpr int kAgentPort = 5335;

struct RemoteCommand {
  std::string host;   // name or address
  int port = kAgentPort;
  std::vector<std::string> words;   // the program, which the agent must allow, and its arguments
};

// Joins stdin, stdout and stderr of this process with the command's until it ends. Returns its exit status, or 128 and
// the signal that ended it. When this process ends first, the agent ends the command and all that it has started.
// Errors: kConnection when no agent with this key answers within 10 s or it is lost, kForbidden with the agent's words.
int run_remotely(const RemoteCommand& command, const HostKey& key);

}   // namespace kedge::host
