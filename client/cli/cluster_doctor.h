// doctor --cluster: whether the ranks of a cluster come together, are alike and reach each other fast.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

// With settings of kedged here, runs `kedged check-cluster`, which lies beside this program: the settings and the
// launcher are kedged's, and no server is asked. Without, a server does the same. A group of its own runs beside one
// that a server has.
int cluster_doctor(const Options& options);

}   // namespace kedge::cli
