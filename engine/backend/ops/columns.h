// Sorted columns, quantiles, moments without missing cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/view.h"

namespace kedge::engine {

// What a column is made of: its numbers, ascending, and how often each occurs; NaN apart. On the host.
template <class T>
struct NumberCounts {
  std::vector<T> numbers;   // -0 is 0
  std::vector<std::int64_t> counts;
  std::int64_t missing = 0;
};

// What stands in for the cells that a column lacks. kMode: the most frequent number, the smallest of several.
enum class ColumnCentre : int { kNone, kMean, kMedian, kMode };

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
  // centre[j] of column j over `rows` without NaN and without what equals missing[j] (NaN: nothing more), and
  // present[j]: the cells that are left; centre is NaN where none is, and everywhere for kNone. Medians and modes are
  // exact, -0 is 0. Means are taken in two passes; CPU and CUDA agree within 4 eps of the largest size of a number.
  virtual void column_centres(ColumnCentre centre_kind, MatrixView<const T> X, VectorView<const std::int32_t> rows,
                              VectorView<const T> missing, VectorView<double> centre,
                              VectorView<std::int64_t> present) = 0;
  // What each of these columns of X (host) is made of, over `rows`. Only the answer leaves the device. Waits.
  virtual std::vector<NumberCounts<T>> count_numbers(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                                                     std::span<const std::int32_t> columns) = 0;
};

}   // namespace kedge::engine
