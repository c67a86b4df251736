// The manual page kedge(1), written from the command line's own tree.
#pragma once

#include <string>

#include "client/cli/command_tree.h"

namespace kedge::cli {

std::string manual_page(const CommandWords& tree, const std::string& version);

}   // namespace kedge::cli
