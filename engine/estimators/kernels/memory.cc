// What kernel approximations hold at their worst moment.
#include "engine/estimators/kernels/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

MemoryNeed landmarks(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kKernelRows = 4096;
  const std::int64_t k = std::min(X.rows, integer(step, "n_components")), rows = std::min(X.rows, kKernelRows);
  return makes(X, k, (rows * (k + 2 * X.cols) + 4 * k * (k + X.cols)) * X.value_bytes + X.rows * 2 * kDouble);
}

}  // namespace kedge::engine::memory
