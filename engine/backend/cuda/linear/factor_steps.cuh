// Kernels of non-negative factorisation. A thread has a row of W; a block lays a tile of rows of X in shared memory for
// both its targets and its products with W. H is small: one block improves it and makes what the next rows ask for.
#pragma once

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/ops/factor_steps.h"

namespace kedge::engine {

inline constexpr int kFactorRows = 64;    // of a tile, and threads of its block
inline constexpr int kFactorChunk = 32;   // columns of a tile
inline constexpr int kFactorStride = kFactorRows + 1, kChunkStride = kFactorChunk + 1;   // no bank twice
inline constexpr int kTargets = 4;                                                       // that a thread sums at once
inline constexpr int kFactorThreads = 256;                                               // of the block that has H
inline constexpr int kBlocksAcross = 32, kBlocksAlong = 32, kAtOnce = 4;

struct FactorOrder {
  std::uint8_t part[kMostFactorParts];
};

// What one factor's step needs of the other: its Gram matrix with the penalty of squares, which `inverse` divides by
// its diagonal; what X is multiplied with; what is taken off each target.
template <class T>
struct FactorSide {
  T *gram, *diagonal, *inverse, *basis, *shift;   // k x k, k, k, k x d, k
};

template <class T>
struct FactorShape {
  const T* X;
  std::int64_t n, d, x_stride;
  T *W, *H;
  int k;
  bool by_coordinates, updates_h;
  T l1_w, l2_w, l1_h, l2_h, least, tiny;   // least: of a divisor, tiny: of a divisor of what may be 0
  std::int64_t entries() const { return k * d + k * k + 1; }   // of the sums: W'X, W'W, the violation
};

// The coordinate before it is cut at 0: its target less what the others explain. Values are `step` apart.
template <class T>
__device__ T coordinate(const T* gram, T inverse, int k, int t, T target, const T* values, std::int64_t step) {
  T value = target;
  for (int s = 0; s < k; ++s)
    if (s != t) value -= gram[t * k + s] * inverse * values[s * step];
  return inverse > T{0} ? value : values[t * step];
}

// The size of the projected gradient: of a coordinate at 0 that alone which raises it.
template <class T>
__device__ double violation_of(T before, T value, T diagonal) {
  const T slope = value - before, size = slope < T{0} ? -slope : slope;
  return static_cast<double>((before > T{0} ? size : slope > T{0} ? slope : T{0}) * diagonal);
}

// The factor of a multiplicative update.
template <class T>
__device__ T factor_of(const FactorShape<T>& p, const T* gram, int t, T numerator, const T* values, std::int64_t step,
                       T l1, T l2) {
  T divisor = 0;
  for (int s = 0; s < p.k; ++s) divisor += gram[t * p.k + s] * values[s * step];
  divisor += l2 * values[t * step] + l1;
  return numerator / (divisor > p.tiny ? divisor : p.tiny);
}

// Columns first .. of a tile of rows, zeros where X ends. All threads of the block call it.
template <class T>
__device__ void read_tile(const FactorShape<T>& p, std::int64_t row, std::int64_t first, T* tile) {
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kFactorRows * kFactorChunk; e += kFactorRows) {
    const int r = e / kFactorChunk, j = e % kFactorChunk;
    const bool is_there = row + r < p.n && first + j < p.d;
    tile[r * kChunkStride + j] = is_there ? p.X[(row + r) * p.x_stride + first + j] : T{0};
  }
  __syncthreads();
}

// targets[t] += X's columns of the tile times those of the basis.
template <class T>
__device__ void add_targets(const FactorShape<T>& p, const T* basis, std::int64_t first, const T* own, T* targets) {
  const int width = static_cast<int>(p.d - first < kFactorChunk ? p.d - first : kFactorChunk);
  for (int t = 0; t < p.k; t += kTargets) {
    const T* rows[kTargets];
    T sums[kTargets];
    KEDGE_UNROLL
    for (int q = 0; q < kTargets; ++q) rows[q] = basis + (t + q < p.k ? t + q : p.k - 1) * p.d + first, sums[q] = 0;
    for (int j = 0; j < width; ++j) {
      const T x = own[j];
      KEDGE_UNROLL
      for (int q = 0; q < kTargets; ++q) sums[q] += rows[q][j] * x;
    }
    KEDGE_UNROLL
    for (int q = 0; q < kTargets; ++q)
      if (t + q < p.k) targets[(t + q) * kFactorStride] += sums[q];
  }
}

// One row of W; values and targets are kFactorStride apart. Returns its violation.
template <class T>
__device__ double improve_row(const FactorShape<T>& p, const FactorSide<T>& side, const FactorOrder& order, T* values,
                              T* targets) {
  double violation = 0;
  if (p.by_coordinates) {
    for (int o = 0; o < p.k; ++o) {
      const int t = order.part[o];
      T& own = values[t * kFactorStride];
      const T value = coordinate(side.gram, side.inverse[t], p.k, t, targets[t * kFactorStride], values, kFactorStride);
      violation += violation_of(own > T{0} ? own : T{0}, value, side.diagonal[t]);
      own = value > T{0} ? value : T{0};
    }
    return violation;
  }
  for (int t = 0; t < p.k; ++t)
    targets[t * kFactorStride] =
        factor_of(p, side.gram, t, targets[t * kFactorStride], values, kFactorStride, p.l1_w, p.l2_w);
  for (int t = 0; t < p.k; ++t) values[t * kFactorStride] *= targets[t * kFactorStride];
  return violation;
}

// own (+)= the tile's columns from `first` on times W, and W times itself with the first of them.
template <class T>
__device__ void add_products(const FactorShape<T>& p, std::int64_t first, const T* tile, const T* W, bool is_first,
                             double* own) {
  const int width = static_cast<int>(p.d - first < kFactorChunk ? p.d - first : kFactorChunk), products = p.k * width,
            all = products + (first == 0 ? p.k * p.k : 0);
  for (int e = static_cast<int>(threadIdx.x); e < all; e += kFactorRows) {
    const bool is_product = e < products;
    const int t = is_product ? e / width : (e - products) / p.k, j = is_product ? e % width : (e - products) % p.k;
    const T *const left = W + t * kFactorStride, *const right = is_product ? tile + j : W + j * kFactorStride;
    const int step = is_product ? kChunkStride : 1;
    T sum = 0;
    for (int r = 0; r < kFactorRows; ++r) sum += left[r] * right[r * step];
    double& place = own[is_product ? t * p.d + first + j : p.k * p.d + t * p.k + j];
    place = is_first ? static_cast<double>(sum) : place + static_cast<double>(sum);
  }
}

// parts[block]: the sums of a block's rows, whose W is improved. Shared memory: W, targets, the tile.
template <class T>
__global__ void __launch_bounds__(kFactorRows)
    factor_rows(FactorShape<T> p, FactorSide<T> side, FactorOrder order, std::int64_t block_rows, double* parts) {
  KEDGE_DYNAMIC_SHARED(T, W);
  __shared__ double violations[kFactorRows];
  T *const targets = W + p.k * kFactorStride, *const tile = targets + p.k * kFactorStride;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t begin = blockIdx.x * block_rows, end = begin + block_rows < p.n ? begin + block_rows : p.n;
  double* const own = parts + static_cast<std::int64_t>(blockIdx.x) * (p.k * p.d + p.k * p.k + 1);
  double violation = 0;
  for (std::int64_t row = begin; row < end; row += kFactorRows) {
    const bool is_there = row + thread < p.n;
    for (int t = 0; t < p.k; ++t) {
      W[t * kFactorStride + thread] = is_there ? p.W[t * p.n + row + thread] : T{0};
      targets[t * kFactorStride + thread] = p.by_coordinates ? -side.shift[t] : T{0};
    }
    std::int64_t read = 0;   // the columns of the tile
    for (std::int64_t first = 0; first < p.d; first += kFactorChunk) {
      read_tile(p, row, first, tile);
      add_targets(p, side.basis, first, tile + thread * kChunkStride, targets + thread);
      read = first;
    }
    if (is_there) {
      violation += improve_row(p, side, order, W + thread, targets + thread);
      for (int t = 0; t < p.k; ++t) p.W[t * p.n + row + thread] = W[t * kFactorStride + thread];
    }
    __syncthreads();
    for (std::int64_t first = read; p.updates_h && first >= 0; first -= kFactorChunk) {
      if (first != read) read_tile(p, row, first, tile);
      add_products(p, first, tile, W, row == begin, own);
    }
    __syncthreads();   // before the next rows take the place
  }
  violations[thread] = violation;
  __syncthreads();
  for (int width = kFactorRows / 2; width > 0; width /= 2) {
    if (thread < width) violations[thread] += violations[thread + width];
    __syncthreads();
  }
  if (thread == 0) own[p.k * p.d + p.k * p.k] = violations[0];
}

// sums[e] = the parts of all blocks from entry `first` on: kBlocksAlong threads take every kBlocksAlong-th of them.
template <class T>
__global__ void add_factor_parts(const double* parts, std::int64_t count, std::int64_t entries, std::int64_t first,
                                 double* sums) {
  __shared__ double own[kBlocksAlong][kBlocksAcross];
  const std::int64_t e = first + static_cast<std::int64_t>(blockIdx.x) * kBlocksAcross + threadIdx.x;
  double some[kAtOnce];
  KEDGE_UNROLL
  for (int q = 0; q < kAtOnce; ++q) some[q] = 0;
  for (std::int64_t b = threadIdx.y; e < entries && b < count; b += kAtOnce * kBlocksAlong) {
    KEDGE_UNROLL
    for (int q = 0; q < kAtOnce; ++q)
      if (b + q * kBlocksAlong < count) some[q] += parts[(b + q * kBlocksAlong) * entries + e];
  }
  own[threadIdx.y][threadIdx.x] = (some[0] + some[1]) + (some[2] + some[3]);
  __syncthreads();
  if (threadIdx.y != 0 || e >= entries) return;
  double sum = 0;
  for (int y = 0; y < kBlocksAlong; ++y) sum += own[y][threadIdx.x];
  sums[e] = sum;
}

// Diagonal and inverse of a Gram matrix that is complete. All threads of the block call it.
template <class T>
__device__ void prepare_side(const FactorShape<T>& p, const FactorSide<T>& side, T l2) {
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < p.k; t += kFactorThreads) {
    T diagonal = side.gram[t * p.k + t];
    if (p.by_coordinates) diagonal += l2, side.gram[t * p.k + t] = diagonal;
    side.diagonal[t] = diagonal > T{0} ? diagonal : T{0};
    side.inverse[t] = diagonal > T{0} ? T{1} / (diagonal > p.least ? diagonal : p.least) : T{0};
  }
  __syncthreads();
}

// H for the sums of W, a thread a column. `made` (k x d) is scratch. Returns the thread's violation.
template <class T>
__device__ double improve_columns(const FactorShape<T>& p, const FactorSide<T>& side, const FactorOrder& order,
                                  const double* sums, T* made) {
  double violation = 0;
  for (std::int64_t j = threadIdx.x; j < p.d; j += kFactorThreads) {
    T* const values = p.H + j;
    for (int o = 0; p.by_coordinates && o < p.k; ++o) {
      const int t = order.part[o];
      const T target = (static_cast<T>(sums[t * p.d + j]) - p.l1_h) * side.inverse[t], before = values[t * p.d],
              value = coordinate(side.gram, side.inverse[t], p.k, t, target, values, p.d);
      violation += violation_of(before > T{0} ? before : T{0}, value, side.diagonal[t]);
      values[t * p.d] = value > T{0} ? value : T{0};
    }
    if (p.by_coordinates) continue;
    for (int t = 0; t < p.k; ++t)
      made[t * p.d + j] = factor_of(p, side.gram, t, static_cast<T>(sums[t * p.d + j]), values, p.d, p.l1_h, p.l2_h);
    for (int t = 0; t < p.k; ++t) values[t * p.d] *= made[t * p.d + j];
  }
  return violation;
}

// What the rows ask of H: its Gram matrix, and itself over the diagonal.
template <class T>
__device__ void prepare_rows(const FactorShape<T>& p, const FactorSide<T>& side) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x) / 32; e < p.k * p.k; e += kFactorThreads / 32) {
    const T *const left = p.H + e / p.k * p.d, *const right = p.H + e % p.k * p.d;
    double sum = 0;
    for (std::int64_t j = lane; j < p.d; j += 32) sum += static_cast<double>(left[j]) * static_cast<double>(right[j]);
    sum = fold_lanes(sum);
    if (lane == 0) side.gram[e] = static_cast<T>(sum);
  }
  prepare_side(p, side, p.l2_w);
  for (std::int64_t e = threadIdx.x; e < p.k * p.d; e += kFactorThreads)
    side.basis[e] = p.by_coordinates ? p.H[e] * side.inverse[e / p.d] : p.H[e];
  for (int t = static_cast<int>(threadIdx.x); t < p.k; t += kFactorThreads) side.shift[t] = p.l1_w * side.inverse[t];
}

// H for W, unless there are no sums yet, and what the next rows need of it. total: the violation of both.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    factor_columns(FactorShape<T> p, FactorSide<T> of_w, FactorSide<T> of_h, FactorOrder order, const double* sums,
                   T* made, double* total) {
  __shared__ double violations[kFactorThreads];
  const int thread = static_cast<int>(threadIdx.x);
  double violation = 0;
  if (sums) {
    for (int e = thread; e < p.k * p.k; e += kFactorThreads) {
      const T one = static_cast<T>(sums[p.k * p.d + e]);
      of_h.gram[e] = one > T{0} ? one : T{0};
    }
    prepare_side(p, of_h, p.l2_h);
    violation = improve_columns(p, of_h, order, sums, made);
  }
  violations[thread] = violation;
  prepare_rows(p, of_w);   // waits for all threads
  for (int width = kFactorThreads / 2; width > 0; width /= 2) {
    __syncthreads();
    if (thread < width) violations[thread] += violations[thread + width];
  }
  if (thread == 0 && sums) *total = sums[p.k * p.d + p.k * p.k] + violations[0];
}

}   // namespace kedge::engine
