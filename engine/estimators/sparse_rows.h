// Sparse samples as the matrices that products are made of: the selected rows, and their transpose.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// The rows of sparse samples (no shift) with their scale applied: the table itself where nothing has to
// change, otherwise a copy. Borrows the samples' table.
template <class T>
class SparseRows {
 public:
  SparseRows(const Context& ctx, const Samples<T>& X);
  CsrView<const T> view() const { return copy_ ? copy_->view() : *table_; }

 private:
  std::optional<CsrMatrix<T>> copy_;
  std::optional<CsrView<const T>> table_;
};

// A' as a matrix of its own.
template <class T>
CsrMatrix<T> transposed(const Context& ctx, CsrView<const T> A);

// Some rows of A, in that order.
template <class T>
CsrMatrix<T> taken_rows(const Context& ctx, CsrView<const T> A, VectorView<const std::int32_t> rows);

// The columns of sparse samples as rows, without their scale: for statistics that carry the scale through
// themselves.
template <class T>
CsrMatrix<T> unscaled_columns(const Context& ctx, const Samples<T>& X);

// A copy of what SparseRows would show, to be changed.
template <class T>
CsrMatrix<T> copied_rows(const Context& ctx, const Samples<T>& X);

// Sparse samples of at most this many cells are made dense where the methods for dense ones are more exact:
// 32 MiB in float64.
inline constexpr std::int64_t kFewCells = std::int64_t{1} << 22;
template <class T>
bool is_large_sparse(const Samples<T>& X) {
  return X.is_sparse() && X.n_cols() > 0 && X.n_rows() > kFewCells / X.n_cols();
}

// A B on the device for a host matrix B (A.cols x k, row-major).
template <class T>
Matrix<double> product(const Context& ctx, CsrView<const T> A, const std::vector<double>& B, std::int64_t k);

}  // namespace kedge::engine
