// artifacts, download: the files that jobs have left.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int artifacts(const Options& options);   // list them
int download(const Options& options);    // fetch one

}   // namespace kedge::cli
