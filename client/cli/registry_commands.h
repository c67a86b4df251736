// registry: names, versions and aliases of stored models.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int registry(const Options& options);

}   // namespace kedge::cli
