// login, use, logout: servers by name.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int login(const Options& options);    // ask the server, keep it, make it current
int use(const Options& options);      // choose one, or list them
int logout(const Options& options);   // forget one

}   // namespace kedge::cli
