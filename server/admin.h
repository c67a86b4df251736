// The commands of kedged that serve nothing: init, and token create, list, revoke.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/config.h"

namespace kedge::server {

// Runs `arguments` (without the program's name) if they begin with a command, and returns the exit code: 0, 64 for wrong usage,
// 69 for a token that is not there, 74 for a data directory that cannot be used. Unset: they begin with no command.
std::optional<int> run_admin_command(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace kedge::server
