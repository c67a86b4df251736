// One connection of the agent.
#pragma once

#include <set>
#include <string>

#include "client/host/key.h"

namespace kedge::host {

using Allowed = std::set<std::string>;   // real paths of programs

// The real path of a program: a name on PATH, or a path. Empty: there is none that can be run.
std::string program_file(const std::string& word);

// Takes the socket over, checks the token and the command, runs it and returns when nothing of it is left. Must be the
// only thing that this process does: orphans become its children. SIGTERM ends the command.
void serve_connection(int fd, const HostKey& key, const Allowed& allowed);

}   // namespace kedge::host
