// What neighbour searches hold at their worst moment.
#include "engine/estimators/neighbors/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

MemoryNeed neighbours(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kUsual = 5;   // rows within a radius
  constexpr std::int64_t kMostAnswers = std::int64_t{1} << 24;
  const std::int64_t lists = std::min(kMostAnswers, X.rows * integer(step, "n_neighbors", kUsual)) * 40;
  return {.work = 2 * X.copy() + X.value_size() + lists + answers(X), .minimum = X.copy(), .kept = X.value_size() + lists};
}

}  // namespace kedge::engine::memory
