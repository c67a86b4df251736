// Tables: what is not finite, chosen rows, moments and ranges of columns.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/view.h"

namespace kedge::engine {

struct Cell {
  std::int64_t row = 0, col = 0;
};

template <class T>
class TableOps {
 public:
  virtual ~TableOps() = default;

  // The first (in row-major order) NaN or infinity of X, if any. Waits for the device.
  virtual std::optional<Cell> find_nonfinite(MatrixView<const T> X) = 0;
  // out[i, j] = (X[rows[i], j] - shift[j]) * scale[j], in double, rounded once. Empty shift means 0, empty scale 1.
  virtual void gather(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                      VectorView<const double> scale, MatrixView<T> out) = 0;
  // Mean and population variance of each column over `rows`, weighted if weights (one per selected row) are given. An
  // empty variance is not computed. Two passes; CPU and CUDA agree within 1e-12 relative to the column's largest
  // square.
  virtual void column_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                              VectorView<const double> weights, VectorView<double> mean,
                              VectorView<double> variance) = 0;
  virtual void column_range(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<T> minimum,
                            VectorView<T> maximum) = 0;
  virtual void clip(MatrixView<T> X, T low, T high) = 0;
};

}   // namespace kedge::engine
