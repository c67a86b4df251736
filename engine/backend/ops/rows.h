// Row by row: sums, norms, softmax, the largest; normal numbers.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class RowOps {
 public:
  virtual ~RowOps() = default;

  // Standard normal numbers, element i from Philox(seed, stream) by the Box-Muller transform; CPU and CUDA agree within
  // 4 ulp.
  virtual void fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) = 0;
  virtual void add_to_rows(VectorView<const T> v, MatrixView<T> Z) = 0;   // Z[i, :] += v
  virtual void column_sums(MatrixView<const T> Z, VectorView<double> sums) = 0;
  virtual void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) = 0;
  virtual void softmax_rows(MatrixView<T> Z) = 0;                                      // exp(Z) / row sum, stable
  virtual void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) = 0;   // first of equal maxima
};

}   // namespace kedge::engine
