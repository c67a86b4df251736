// The ops of support vector machines of a GPU.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/support_vectors.h"

namespace kedge::engine {

// Borrows the runtime.
std::unique_ptr<SupportVectorOps> make_cuda_support_vectors(CudaRuntime& runtime);

}   // namespace kedge::engine
