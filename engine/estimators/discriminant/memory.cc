// What discriminants hold at their worst moment.
#include "engine/estimators/discriminant/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

namespace {

// `squares` matrices of columns x columns.
MemoryNeed discriminant(const SampleShape& X, std::int64_t squares) {
  const std::int64_t rows = X.rows < X.cols ? 17 * doubles(X) : 0;
  return makes(X, std::min(X.cols, X.n_outputs), rows + doubles(X) + block(X) + squares * square(X.cols) + answers(X));
}

}  // namespace

MemoryNeed linear_discriminant(const SampleShape& X, const Step&) { return discriminant(X, 6); }

MemoryNeed quadratic_discriminant(const SampleShape& X, const Step&) { return discriminant(X, 3 * X.n_outputs); }

}  // namespace kedge::engine::memory
