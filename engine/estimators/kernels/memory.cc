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

// The matrix and its factor; predictions hold a block of it, also in double.
MemoryNeed kernel_system(const SampleShape& X, const Step&) {
  constexpr std::int64_t kValues = std::int64_t{1} << 22;
  const std::int64_t rows = bytes_of(X.rows, X.cols, X.value_bytes), matrix = bytes_of(X.rows, X.rows, X.value_bytes);
  const std::int64_t use = 3 * rows + 2 * std::min(bytes_of(X.rows, X.rows, kDouble), kValues * kDouble) + answers(X);
  return {.work = std::max(4 * rows + 2 * matrix + answers(X), use), .minimum = matrix, .use = use};
}

}  // namespace kedge::engine::memory
