// Ward's linkage on the GPU.
#pragma once

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/ward_merges.h"

namespace kedge::engine {

// WardOps::ward_merges().
std::optional<std::vector<WardMerge>> cuda_ward_merges(CudaRuntime& runtime, MatrixView<const double> points,
                                                       const std::function<void(std::int64_t)>& pause);

}   // namespace kedge::engine
