// What decompositions hold at their worst moment.
#include "engine/estimators/decomposition/memory.h"

#include <algorithm>
#include <variant>

#include "engine/core/params.h"
#include "engine/estimators/decomposition/incremental_pca.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

MemoryNeed truncated_components(const SampleShape& X, const Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols), k = std::min(small, integer(step, "n_components"));
  return makes(X, k, bytes_of(X.rows + X.cols, std::min(small, k + integer(step, "n_oversamples")), 4 * kDouble) + block(X));
}

MemoryNeed incremental_components(const SampleShape& X, const Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols), k = std::min(small, integer(step, "n_components", small));
  const std::int64_t joined = k == X.cols ? incremental_block_rows(X.cols) : 0;
  const std::int64_t batch = std::min(X.rows, std::max(joined, integer(step, "batch_size", 5 * X.cols)));
  return makes(X, k, 6 * (batch + k) * X.cols * kDouble + block(X));
}

MemoryNeed principal_components(const SampleShape& X, const Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols), k = std::min(small, integer(step, "n_components", small));
  const std::int64_t spectrum = X.rows < X.cols ? 4 * doubles(X) + 2 * square(X.rows) : 4 * square(X.cols);
  MemoryNeed need = makes(X, k, spectrum + block(X) + k * X.cols * 2 * kDouble);
  const Value* const wanted = find_value(step.params, "n_components");
  need.is_exact = !wanted || !(std::holds_alternative<double>(wanted->data) || std::holds_alternative<std::string>(wanted->data));
  return need;
}

}  // namespace kedge::engine::memory
