// doctor --cluster: whether the ranks of a cluster come together, are alike and reach each other fast.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

// Runs `kedged check-cluster`, which lies beside this program: the settings and the launcher are kedged's. Asks no
// server; a group of its own runs beside one that a server has.
int cluster_doctor(const Options& options);

}   // namespace kedge::cli
