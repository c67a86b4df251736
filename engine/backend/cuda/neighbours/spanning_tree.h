// Boruvka's algorithm on the GPU.
#pragma once

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/spanning_tree.h"

namespace kedge::engine {

// SpanningTreeOps::spanning_edges().
std::optional<std::vector<SpanningEdge>> cuda_spanning_edges(CudaRuntime& runtime, MatrixView<const double> points,
                                                             const Distance& distance, VectorView<const double> reach,
                                                             const std::function<void(std::int64_t)>& pause);

}   // namespace kedge::engine
