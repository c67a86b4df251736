// Host memory that the kernels of a CudaRuntime read. Two bodies, as CudaRuntime has them.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/linked_tables.h"

namespace kedge::engine {

// Borrows the runtime, whose stream orders what is done with this memory.
std::unique_ptr<LinkedMemory> make_linked_memory(CudaRuntime& runtime);

}   // namespace kedge::engine
