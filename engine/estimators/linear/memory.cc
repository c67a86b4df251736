// What linear models hold at their worst moment.
#include "engine/estimators/linear/memory.h"

#include <algorithm>

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

// Tall designs are read in blocks; what is ill-conditioned beyond them is rare, and its copy is checked where it is made.
MemoryNeed least_squares(const SampleShape& X, const Step&) {
  const std::int64_t least = X.rows < X.cols ? doubles(X) : gram(X, X.cols), factor = X.rows < X.cols ? 7 : 4;
  return {.work = block(X) + answers(X) + factor * (X.rows < X.cols ? least : gram(X, X.cols + 1)),
          .minimum = X.is_sparse() ? 0 : least};
}

namespace {

MemoryNeed ridge_of(const SampleShape& X, bool keeps_rows) {
  const std::int64_t side = std::min(X.rows, X.cols) + X.n_outputs, squares = 6 * gram(X, side);
  const std::int64_t rows = keeps_rows ? doubles(X) : 0;
  return {.work = block(X) + 2 * rows + squares + answers(X),
          .minimum = X.is_sparse() ? 0 : square(std::min(X.rows, X.cols)),
          .kept = rows + gram(X, side)};
}

}  // namespace

MemoryNeed ridge(const SampleShape& X, const Step&) { return ridge_of(X, X.rows < X.cols); }

MemoryNeed ridge_cv(const SampleShape& X, const Step&) { return ridge_of(X, true); }

// With the errors of each target and alpha, and what they are made of.
MemoryNeed ridge_classifier_cv(const SampleShape& X, const Step& step) {
  MemoryNeed need = ridge_of(X, true);
  const std::int64_t alphas = count(step, "alphas", 3), cells = alphas * (X.n_outputs + 1) + X.n_outputs;
  need.work += bytes_of(X.rows, 4 * cells, kDouble);
  return need;
}

MemoryNeed coordinate_descent(const SampleShape& X, const Step&) {
  const std::int64_t rows = X.rows < X.cols ? 7 * doubles(X) : 4 * gram(X, X.cols + 1);
  return {.work = block(X) + rows + answers(X), .kept = rows};
}

MemoryNeed coordinate_descent_cv(const SampleShape& X, const Step& step) {
  MemoryNeed need = coordinate_descent(X, step);
  const std::int64_t folds = std::min(integer(step, "cv", 5), X.rows);   // more are refused
  const std::int64_t errors = bytes_of(count(step, "alphas", 100), count(step, "l1_ratio", 1), folds * kDouble);
  need.work += bytes_of(folds, 1, need.kept) + bytes_of(X.cols + 4, 1, errors);   // with the coefficients of each
  need.minimum = errors;
  return need;
}

MemoryNeed logistic(const SampleShape& X, const Step&) {
  constexpr std::int64_t kVectors = 40;   // of L-BFGS, each of the size of the coefficients
  const std::int64_t coef = X.cols * X.n_outputs * kDouble, second = std::min(square(X.cols), kSparseBlock);
  return {.work = X.copy() + X.rows * X.n_outputs * 4 * kDouble + answers(X) + kVectors * coef + second,
          .minimum = X.is_sparse() ? 0 : X.copy(),
          .kept = coef};
}

// Each fold has its rows as a table of its own, small ones several at a time, and keeps a line for each C and share.
MemoryNeed logistic_cv(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kSideBySide = std::int64_t{1} << 27;
  MemoryNeed need = logistic(X, step);
  const std::int64_t folds = std::min(integer(step, "cv", 5), X.rows);
  const std::int64_t ratios = std::max<std::int64_t>(1, count(step, "l1_ratios", 1));
  const std::int64_t fits = bytes_of(folds, count(step, "Cs", 10), ratios);
  const std::int64_t lines = bytes_of(fits, (X.cols + 2) * X.n_outputs, 3 * kDouble);
  const bool is_small = bytes_of(X.rows, X.cols, X.n_outputs) <= kSideBySide;
  need.work +=
      bytes_of(is_small ? std::min<std::int64_t>(folds * ratios, 8) : 1, 1, need.work + X.value_size()) + lines;
  need.minimum += lines;
  return need;
}

// Newton's method makes and factorises a square of the columns, beyond which L-BFGS keeps pairs of vectors.
MemoryNeed margins(const SampleShape& X, const Step&) {
  constexpr std::int64_t kVectors = 12, kPairs = 40;   // of a number a row; of a number a column
  const std::int64_t squares = X.cols <= 1024 ? 6 * square(X.cols + 2) : kPairs * X.cols * kDouble;
  return {.work = 2 * block(X) + answers(X) + bytes_of(X.rows, kVectors, kDouble) + squares};
}

// The rows twice on the host for a moment, and of each line its target and the order of the rows.
MemoryNeed row_by_row(const SampleShape& X, const Step&) {
  return {.work = 2 * doubles(X) + answers(X) + bytes_of(X.rows, 2 * X.n_outputs + 2, kDouble), .minimum = doubles(X)};
}

MemoryNeed evidence(const SampleShape& X, const Step&) {
  const std::int64_t least = X.rows < X.cols ? 3 * doubles(X) : 0;
  return {.work = block(X) + answers(X) + least + 7 * square(X.cols + 1)};
}

}  // namespace kedge::engine::memory
