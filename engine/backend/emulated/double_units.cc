// Rates of double by compute capability: CUDA C++ Programming Guide 13, "Arithmetic Instructions", 64-bit additions and
// multiplications of a multiprocessor in a clock. Those of data centres' large GPUs end in 0: 8.0, 9.0, 10.0.
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/emulated/emulator.h"

namespace kedge::engine {

bool has_few_double_units(const CudaRuntime& gpu) {
  return static_cast<const emulated::Emulator*>(gpu.stream())->check.model().capability % 10 != 0;
}

}   // namespace kedge::engine
