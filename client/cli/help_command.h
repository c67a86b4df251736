// help, version, completion: what kedge says about itself.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int help(const Options& options);   // of all, of a command, or as a manual page
int print_version(const Options& options);
int completion(const Options& options);   // a script for a shell

}   // namespace kedge::cli
