// The embedding ops of a GPU.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/embedding.h"

namespace kedge::engine {

// Borrows the runtime.
std::unique_ptr<EmbeddingOps> make_cuda_embedding(CudaRuntime& runtime);

}   // namespace kedge::engine
