// Loss and gradient of two classes in one pass over X with few columns: one thread a row, which it reads once. The
// limit is reading X, n d values, and 2 n margins each way; per row one exponential and one logarithm in double, and
// the gradient as V, double or FloatPair.
#pragma once

#include <algorithm>
#include <bit>

#include "engine/backend/cuda/float_pair.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr int kPassThreads = 128;
inline constexpr int kSettledPassRows = 16;         // between two calls of settle()
inline constexpr std::int64_t kPassBlocks = 2048;   // at most; each has its own sums

// Rows of a block: a power of two, of which the blocks of rows that ranks own (dealt_blocks.h) are multiples, so that a
// rank has the derivatives of its own rows.
inline std::int64_t pass_rows(std::int64_t n) {
  const std::int64_t least = std::max<std::int64_t>(tiles_of(n, kPassBlocks), kPassThreads);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

template <class T>
struct alignas(2 * sizeof(T)) TwoMargins {
  T first, second;
};

// logistic_row() of two classes, with one exponential: that of the larger margin is 1.
template <class T>
__device__ double two_class_row(TwoMargins<T>& z, bool is_second, double weight) {
  const bool second_is_larger = z.second > z.first;
  const double top = static_cast<double>(second_is_larger ? z.second : z.first),
               low = static_cast<double>(second_is_larger ? z.first : z.second),
               own = static_cast<double>(is_second ? z.second : z.first) - top;
  const double one = 1 + (top - top), less = exp(low - top);   // NaN stays NaN
  const double first = second_is_larger ? less : one, second = second_is_larger ? one : less;
  const double sum = first + second, share = weight / sum;
  const auto derivative = [&](double e, bool is_own) {
    return static_cast<T>(static_cast<double>(static_cast<T>(e)) * share - (is_own ? weight : 0.0));
  };
  z = {derivative(first, !is_second), derivative(second, is_second)};
  return weight * (log(sum) - own);
}

template <class T>
struct LogisticRows {
  MatrixView<const T> X;
  const T *coefficients, *intercepts;   // null intercepts: 0
  const std::int32_t* y;
  const double* weights;   // null: 1 each
  MatrixView<T> Z;         // of two columns, the second of which is X B'
  bool in_pieces, in_pairs;

  LogisticRows range(const Part& part) const {
    LogisticRows some = *this;
    some.X = X.row_range(part.begin, part.size()), some.Z = Z.row_range(part.begin, part.size());
    some.y += part.begin;
    if (weights) some.weights += part.begin;
    return some;
  }
  __device__ TwoMargins<T> margins(std::int64_t i) const {
    const T* const z = raw(Z) + i * Z.stride;
    return {z[0], T{0}};
  }
  __device__ void put(std::int64_t i, const TwoMargins<T>& z) const {
    T* const to = raw(Z) + i * Z.stride;
    if (in_pairs) *reinterpret_cast<TwoMargins<T>*>(to) = z;
    else to[0] = z.first, to[1] = z.second;
  }
};

// parts[block, j]: the block's sum of derivative * X[:, j], then of the losses. A block takes block_rows rows.
template <int kMost, class T, class V>
__global__ void __launch_bounds__(kPassThreads, kMost * sizeof(T) > 64 ? 3 : 4)
    logistic_pass(LogisticRows<T> rows, std::int64_t block_rows, double* parts) {
  constexpr int kWarps = kPassThreads / kLanes;
  __shared__ T coefficients[kMost];
  __shared__ double sums[kWarps][kMost + 1];
  const int thread = static_cast<int>(threadIdx.x), d = static_cast<int>(rows.X.cols);
  if (thread < kMost) coefficients[thread] = thread < d ? rows.coefficients[thread] : T{0};
  __syncthreads();
  V gradient[kMost];
  double loss = 0;
  KEDGE_UNROLL
  for (int j = 0; j < kMost; ++j) gradient[j] = V{};
  const std::int64_t begin = blockIdx.x * block_rows,
                     end = begin + block_rows < rows.X.rows ? begin + block_rows : rows.X.rows;
  int settled = 0;   // rows since
  for (std::int64_t i = begin + thread; i < end; i += kPassThreads) {
    const T* const from = raw(rows.X) + i * rows.X.stride;
    T x[kMost];
    KEDGE_UNROLL
    for (int j = 0; j < kMost; j += 4) {
      FourValues<T> four{};
      if (rows.in_pieces && j + 4 <= d) four = four_at(from + j);
      else
        for (int e = 0; e < 4; ++e) four.values[e] = j + e < d ? from[j + e] : T{0};
      for (int e = 0; e < 4; ++e) x[j + e] = four.values[e];
    }
    TwoMargins<T> z = rows.margins(i);
    KEDGE_UNROLL
    for (int j = 0; j < kMost; ++j) z.second = fma(x[j], coefficients[j], z.second);
    if (rows.intercepts) z.first += rows.intercepts[0], z.second += rows.intercepts[1];
    loss += two_class_row(z, rows.y[i] == 1, rows.weights ? rows.weights[i] : 1.0);
    rows.put(i, z);
    KEDGE_UNROLL
    for (int j = 0; j < kMost; ++j) add_product(gradient[j], z.second, x[j]);
    if (++settled < kSettledPassRows) continue;
    settled = 0;
    KEDGE_UNROLL
    for (int j = 0; j < kMost; ++j) settle(gradient[j]);
  }
  const int lane = thread % kLanes, warp = thread / kLanes;
  KEDGE_UNROLL
  for (int j = 0; j < kMost; ++j) {
    const double sum = fold_lanes(value_of(gradient[j]));
    if (lane == 0) sums[warp][j] = sum;
  }
  loss = fold_lanes(loss);
  if (lane == 0) sums[warp][kMost] = loss;
  __syncthreads();
  for (int j = thread; j <= d; j += kPassThreads) {
    double sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += sums[w][j < d ? j : kMost];
    parts[static_cast<std::int64_t>(blockIdx.x) * (d + 1) + j] = sum;
  }
}

// G = the sums of the derivatives, rounded.
template <class T>
__global__ void put_gradient(const double* sums, std::int64_t d, T* G) {
  const std::int64_t j = own_item();
  if (j < d) G[j] = static_cast<T>(sums[j]);
}

}   // namespace kedge::engine
