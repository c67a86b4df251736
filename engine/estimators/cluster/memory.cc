// What clusterers hold at their worst moment.
#include "engine/estimators/cluster/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

MemoryNeed clusters(const SampleShape& X, const Step& step) {
  const std::int64_t k = std::min(X.rows, integer(step, "n_clusters"));
  MemoryNeed need = makes(X, k, 0);
  need.minimum = X.copy();
  need.work = X.copy() + block(X) + X.rows * 4 * kDouble + std::min(X.rows, kBlockRows) * k * kDouble + 8 * k * X.cols * kDouble;
  return need;
}

MemoryNeed density(const SampleShape& X, const Step&) {
  constexpr std::int64_t kMostPairs = std::int64_t{512} << 20, kUsualPairs = 64;   // of a row
  return {.work = 2 * X.copy() + X.value_size() + X.rows * 8 * kDouble + std::min(kMostPairs, X.rows * kUsualPairs * kDouble),
          .minimum = X.copy()};
}

}  // namespace kedge::engine::memory
