// Makes the tree operations of a device; a Device owns what these return.
#pragma once

#include <memory>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

class CudaRuntime;
class DeviceLibraries;

// Both borrow their arguments for the lifetime of the result.
std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory);
std::unique_ptr<TreeOps> make_cuda_trees(CudaRuntime& runtime,
                                         DeviceLibraries& libraries);   // on the emulated device as well

}  // namespace kedge::engine
