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
  // mean[j] = sum_i weights[i] Z[i, j] / total[0], total[0] = the sum of the weights; empty weights mean 1. Sums have
  // 64 bits or more: within half a unit of the mean, and n 2^-63 of the mean size of what is summed, on every device.
  virtual void precise_means(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> mean,
                             VectorView<double> total) = 0;
  // sums[j] = sum_i weights[i] Z[i, j]; empty weights mean 1. On the CPU row after row in double, on CUDA in twice a
  // double's bits: they agree within n eps of the sum of the sizes.
  virtual void weighted_sums(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> sums) = 0;
  virtual void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) = 0;
  virtual void softmax_rows(MatrixView<T> Z) = 0;                                      // exp(Z) / row sum, stable
  virtual void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) = 0;   // first of equal maxima
};

}   // namespace kedge::engine
