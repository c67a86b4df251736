// The residuals of a tall design and their products with its columns, in one pass over its rows: blocks take rows, keep
// their sums in registers, and the sums of blocks are added exactly. What limits it is reading X.
#pragma once

#include "engine/backend/cuda/linear/row_tiles.cuh"

namespace kedge::engine {

inline constexpr int kSlopeLoads = 2;                    // rows that a thread reads at once
inline constexpr std::int64_t kMostSlopeBlocks = 2048;   // of one pass; each has its own sums
inline constexpr std::int64_t kSlopeColumns = 128;       // beyond, few rows would fill a tile

// signs: what a row of the design times it is the residual: the coefficients without their sign, and 1.
__global__ void put_signs(const double* coef, std::int64_t columns, double* signs) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j <= columns) signs[j] = j == columns ? 1.0 : coef ? -coef[j] : 0.0;
}

// Pairs have one column more, the target, and a second sum for each, of its squares: they say whether all was in range.
template <class V>
constexpr bool kKeepsSquares = std::is_same_v<V, FloatPair>;
template <class V>
KEDGE_HD int slope_entries(int d) {
  return kKeepsSquares<V> ? 2 * (d + 1) : d;
}

// out[column] = the sum of what the threads of all groups hold of it.
template <class V>
__device__ void fold_groups(V* tile, V own, int columns, double* out) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  tile[thread] = own;
  __syncthreads();
  if (thread >= columns) return;
  V total{};
  for (int g = 0; g < kRowTileThreads / columns; ++g) total = plus(total, tile[g * columns + thread]);
  out[thread] = value_of(total);
}

// parts[block, j]: the sums of a block's rows. Shared memory: the tile, or a number a thread; then a residual for each
// of its rows, and the signs.
template <class T, class V>
__global__ void __launch_bounds__(kRowTileThreads, 4)
    tall_slopes(Rows<T> rows, TileCut cut, const double* signs, std::int64_t n, std::int64_t block_rows,
                double* parts) {
  KEDGE_DYNAMIC_SHARED(V, tile);
  __shared__ AffineMap<V> maps[kSharedMaps<V>];
  const int d = static_cast<int>(rows.cols), thread = static_cast<int>(threadIdx.x),
            columns = kKeepsSquares<V> ? d + 1 : d, groups = kRowTileThreads / columns, column = thread % columns,
            group = thread / columns;
  const int tile_size = cut.rows * cut.stride > kRowTileThreads ? cut.rows * cut.stride : kRowTileThreads;
  V *const residuals = tile + tile_size, *const factors = residuals + cut.rows;
  for (int j = thread; j <= d; j += kRowTileThreads) factors[j] = number<V>(signs[j]);
  const std::int64_t begin = blockIdx.x * block_rows, end = begin + block_rows < n ? begin + block_rows : n;
  V sum{}, squares{};
  TileReader<T, V, kSlopeLoads> reader(rows, cut, maps);
  reader.fetch(begin, end);
  for (std::int64_t first = begin; first < end; first += cut.rows) {
    __syncthreads();
    reader.put(tile);
    __syncthreads();
    reader.fetch(first + cut.rows, end);
    for (int r = thread; r < cut.rows; r += kRowTileThreads) {
      const V* const row = tile + r * cut.stride;
      V residual = row[d];
      for (int j = 0; j < d; ++j) add_product(residual, row[j], factors[j]);
      settle(residual);
      residuals[r] = residual;
    }
    __syncthreads();
    for (int r = group < groups ? group : cut.rows; r < cut.rows; r += groups) {
      const V value = tile[r * cut.stride + column];
      add_product(sum, value, residuals[r]);
      if constexpr (kKeepsSquares<V>) squares.high = fmaf(value.high, value.high, squares.high);
    }
    settle(sum);
  }
  double* const out = parts + static_cast<std::int64_t>(blockIdx.x) * slope_entries<V>(d);
  fold_groups(tile, sum, columns, out);
  if constexpr (kKeepsSquares<V>) {
    squares.high += 0 * sum.high;   // NaN where the sum left float's range
    fold_groups(tile, squares, columns, out + columns);
  }
}

}   // namespace kedge::engine
