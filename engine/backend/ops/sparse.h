// Sparse rows (CSR).
#pragma once

#include <cstdint>

#include "engine/backend/ops/maps.h"
#include "engine/core/csr.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class SparseOps {
 public:
  virtual ~SparseOps() = default;

  // Columns of a sparse A are served by the rows of its transpose. All dense operands are double.
  // offsets (rows + 1): where the rows of sparse_gather's result begin. Returns the number of entries. Waits.
  virtual std::int64_t offsets(CsrView<const T> A, VectorView<const std::int32_t> rows,
                               VectorView<std::int64_t> offsets) = 0;
  // Row i of out = row rows[i] of A, each value times scale[its column] in double, rounded once; empty scale 1.
  // out.offsets is given.
  virtual void gather(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> scale,
                      CsrView<T> out) = 0;
  // out = A', with as many entries: at most 2^31 - 1.
  virtual void transpose(CsrView<const T> A, CsrView<T> out) = 0;
  // C = A B; B is A.cols x k, C A.rows x k. One column: entries in lanes; more: entries in order.
  virtual void multiply(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) = 0;
  // Mean and population variance along each row of A, zeros included, weighted if weights (one a column of A, sum above
  // 0) are given.
  virtual void moments(CsrView<const T> A, VectorView<const double> weights, VectorView<double> mean,
                       VectorView<double> variance) = 0;
  // Smallest and largest along each row of A, zeros included; NaN is left out.
  virtual void range(CsrView<const T> A, VectorView<T> minimum, VectorView<T> maximum) = 0;
  // out[i, j] = (A[rows[i], j] - shift[j]) * scale[j], in double, rounded once; zeros of A as well.
  virtual void to_dense(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                        VectorView<const double> scale, MatrixView<T> out) = 0;
  virtual void normalize(RowNorm norm, CsrView<T> A) = 0;   // as normalize_rows
};

}   // namespace kedge::engine
