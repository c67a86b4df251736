// Completions for shells, written from the command line's own tree.
#pragma once

#include <string>

#include "client/cli/command_tree.h"

namespace kedge::cli {

std::string bash_completion(const CommandWords& tree);
std::string zsh_completion(const CommandWords& tree);
std::string fish_completion(const CommandWords& tree);

}   // namespace kedge::cli
