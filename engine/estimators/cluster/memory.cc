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
  constexpr std::int64_t kMoved = std::int64_t{64} << 20;                          // rows on their way between ranks
  const std::int64_t all = std::max(X.rows, X.table_rows);
  return {.work = 2 * X.copy() + X.value_size() + all * 8 * kDouble +
                  std::min(kMostPairs, X.rows * kUsualPairs * kDouble) +
                  (X.rows < all ? 2 * X.value_size() + kMoved : 0),
          .minimum = X.copy()};
}

bool divides_rows(const Step& step) {
  return step.estimator == "DBSCAN";
}

}  // namespace kedge::engine::memory
