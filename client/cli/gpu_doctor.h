// doctor --gpu: whether the GPU of this machine computes what its CPU does.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

// Runs kedge-gpu-check, which lies beside this program, for a minute. Asks no server.
int gpu_doctor(const Options& options);

}   // namespace kedge::cli
