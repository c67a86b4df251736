// kedge map: many jobs, some at a time.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int map(const Options& options);

}   // namespace kedge::cli
