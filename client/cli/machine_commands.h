// The commands about machines; commands.cc lists them.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int up(const Options& options);         // rent a machine and make it the current server
int down(const Options& options);       // end it, or all
int machines(const Options& options);   // what is rented; "gc" ends what is no longer wanted
int offers(const Options& options);     // what could be rented
// run --on PROVIDER[:GPU]: rents, runs, brings the result home, gives back.
int run_on(const Options& options);

}  // namespace kedge::cli
