// A GPU as a device, real or emulated: the linked body of CudaRuntime decides.
#pragma once

#include <memory>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/runtime.h"

namespace kedge::engine {

// Errors: kDeviceUnavailable. To be used from the thread that made it: CUDA's current device belongs to a thread. Its
// lanes (engine/backend/lanes.h) are used from others.
std::unique_ptr<Device> make_cuda_device(const CudaRuntime::Options& options);

}  // namespace kedge::engine
