// What selectors of columns hold at their worst moment.
#include "engine/estimators/selection/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

namespace {

MemoryNeed taken(const SampleShape& X, std::int64_t cols, bool is_exact) {
  MemoryNeed need = makes_alike(X, cols, std::max(X.copy(), block(X)) + X.rows * X.n_outputs * kDouble);
  need.out.has_few_values = X.has_few_values;
  need.is_exact = is_exact;
  return need;
}

}  // namespace

// "all" is no number.
MemoryNeed k_best(const SampleShape& X, const Step& step) { return taken(X, std::min(X.cols, integer(step, "k", X.cols)), true); }

// With mode k_best as many as it says.
MemoryNeed generic_selection(const SampleShape& X, const Step& step) {
  const std::int64_t k = text(step, "mode") == "k_best" ? integer(step, "param", -1) : -1;
  return taken(X, k < 0 ? X.cols : std::min(X.cols, k), k >= 0);
}

MemoryNeed takes_columns(const SampleShape& X, const Step&) { return taken(X, X.cols, false); }

}  // namespace kedge::engine::memory
