// Sorted columns, quantiles, moments without missing cells.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class ColumnOps {
 public:
  virtual ~ColumnOps() = default;

  // sorted[j, 0 .. present[j]) are the numbers of column j over `rows`, ascending; NaN is left out, and the rest of row
  // j is infinity.
  virtual void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                            VectorView<std::int64_t> present) = 0;
  // out[i, j] = quantile q[i] (0 to 1) of column j over `rows`, NaN left out, linear between neighbours as numpy has
  // it; NaN where nothing is left.
  virtual void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                                MatrixView<double> out) = 0;
  // As column_moments, but NaN is left out; count: the weight of what is left. Mean and variance are NaN where nothing
  // is left.
  virtual void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                               VectorView<const double> weights, VectorView<double> count, VectorView<double> mean,
                               VectorView<double> variance) = 0;
};

}   // namespace kedge::engine
