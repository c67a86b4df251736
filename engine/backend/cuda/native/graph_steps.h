// Recorded steps as a CUDA graph.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "engine/backend/recorded_steps.h"

namespace kedge::engine {

// What `ops` puts on the stream, by capture: kernels, copies on the device, and memory that the stream allocates and
// frees, which becomes the graph's own. Null where the driver, or a library, does not let it be captured. Borrows the
// stream. Errors: those of `ops` but kInternal.
std::unique_ptr<RecordedSteps> capture_steps(cudaStream_t stream, const std::function<void()>& ops);

}   // namespace kedge::engine
