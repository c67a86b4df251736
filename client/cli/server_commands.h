// The commands about the server; commands.cc lists them.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int estimators(const Options& options);   // the catalogue, or one estimator's parameters
int datasets(const Options& options);     // uploads
int doctor(const Options& options);       // is everything in place?

}  // namespace kedge::cli
