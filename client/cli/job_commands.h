// The commands about jobs; commands.cc lists them.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int run(const Options& options);      // submit, follow, print the table
void check_spec(const Options& options);   // throws for a spec file that cannot be read; stdin is read once only, later
int submit(const Options& options);   // submit, print the id
int watch(const Options& options);    // follow a job that is there
int result(const Options& options);   // wait and print the table
int cancel(const Options& options);
int jobs(const Options& options);

}  // namespace kedge::cli
