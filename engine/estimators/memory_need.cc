// Looks up a step's memory rule and keeps its sums in range.
#include "engine/estimators/memory_need.h"

#include <algorithm>

#include "engine/core/require.h"
#include "engine/estimators/catalogue.h"

namespace kedge::engine {

std::int64_t bytes_of(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes) {
  constexpr double kMost = 0x1p55;
  const double bytes = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(element_bytes);
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

std::int64_t SampleShape::value_size() const {
  return is_sparse() ? entries * (value_bytes + 4) + (rows + 1) * 8 : bytes_of(rows, cols, value_bytes);
}

// What does not take sparse samples gets a dense copy.
MemoryNeed memory_need(const SampleShape& X, const schema::Step& step) {
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  require(entry != nullptr, schema::ErrorCode::kInternal, "no estimator is named {}", step.estimator);
  if (!X.is_sparse() || entry->make_f64(step.params)->accepts_sparse()) return entry->memory(X, step);
  SampleShape dense = X;
  dense.entries = -1, dense.in_place = false;
  MemoryNeed need = entry->memory(dense, step);
  need.work += dense.value_size(), need.sure += dense.value_size();
  return need;
}

}   // namespace kedge::engine
