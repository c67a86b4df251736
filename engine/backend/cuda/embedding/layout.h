// UMAP's places on a GPU.
#pragma once

#include <memory>
#include <span>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/embedding.h"

namespace kedge::engine {

// As EmbeddingOps::lay_out(). Borrows the runtime.
std::unique_ptr<PlaceLayout> make_cuda_layout(CudaRuntime& runtime, const LayoutEdges& edges, const LayoutRules& rules,
                                              std::span<const float> places, std::int64_t dims);

}   // namespace kedge::engine
