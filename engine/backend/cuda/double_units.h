// How fast a GPU computes in double. Kernels that have a body in float for GPUs that are slow ask here, and nowhere
// else.
#pragma once

#include "engine/backend/cuda/runtime.h"

namespace kedge::engine {

// An operation in double takes as long as more than 8 in float: 32 on a T4, 64 on an L4, an L40S or a GeForce, and 2 on
// A100, H100 and B200. Errors: kInternal, where the driver does not say.
bool has_few_double_units(const CudaRuntime& gpu);

}   // namespace kedge::engine
