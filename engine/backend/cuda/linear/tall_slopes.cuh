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

// parts[block, j]: the sums of a block's rows. Shared memory: the tile, or a number a thread; then a residual for each
// of its rows, and the signs.
template <class T>
__global__ void __launch_bounds__(kRowTileThreads, 4)
    tall_slopes(Rows<T> rows, TileCut cut, const double* signs, std::int64_t n, std::int64_t block_rows,
                double* parts) {
  KEDGE_DYNAMIC_SHARED(double, tile);
  const int d = static_cast<int>(rows.cols), thread = static_cast<int>(threadIdx.x), groups = kRowTileThreads / d,
            column = thread % d, group = thread / d;
  const int tile_size = cut.rows * cut.stride > kRowTileThreads ? cut.rows * cut.stride : kRowTileThreads;
  double *const residuals = tile + tile_size, *const factors = residuals + cut.rows;
  for (int j = thread; j <= d; j += kRowTileThreads) factors[j] = signs[j];
  const std::int64_t begin = blockIdx.x * block_rows, end = begin + block_rows < n ? begin + block_rows : n;
  double sum = 0;
  TileReader<T, kSlopeLoads> reader(rows, cut);
  reader.fetch(begin, end);
  for (std::int64_t first = begin; first < end; first += cut.rows) {
    __syncthreads();
    reader.put(tile);
    __syncthreads();
    reader.fetch(first + cut.rows, end);
    for (int r = thread; r < cut.rows; r += kRowTileThreads) {
      const double* const row = tile + r * cut.stride;
      double residual = row[d];
      for (int j = 0; j < d; ++j) residual = fma(row[j], factors[j], residual);
      residuals[r] = residual;
    }
    __syncthreads();
    for (int r = group < groups ? group : cut.rows; r < cut.rows; r += groups)
      sum = fma(tile[r * cut.stride + column], residuals[r], sum);
  }
  __syncthreads();
  tile[thread] = sum;
  __syncthreads();
  if (thread >= d) return;
  double total = 0;
  for (int g = 0; g < groups; ++g) total += tile[g * d + thread];
  parts[static_cast<std::int64_t>(blockIdx.x) * d + thread] = total;
}

}   // namespace kedge::engine
