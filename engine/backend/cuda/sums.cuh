// Sums that every device does alike: tiles of rows in order and then their exact sum, and lanes along a row.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/functors.h"

namespace kedge::engine {

// A block for a loop over the columns of some rows: as many threads along a row as it has columns, at most a warp.
inline dim3 row_block(std::int64_t cols) {
  unsigned across = 1;
  while (across < 32 && across < cols) across *= 2;
  return dim3(across, 256 / across);
}
inline unsigned row_blocks(std::int64_t rows, std::int64_t cols) { return blocks_for(rows, row_block(cols).y); }

// This thread's row, in a grid of row_blocks().
__device__ inline std::int64_t own_row() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; }
// This thread's item, in a one-dimensional grid.
__device__ inline std::int64_t own_item() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// The sum of the lanes' values, folded by halves, in lane 0.
__device__ inline double fold_lanes(double value) {
  for (int width = kLanes / 2; width > 0; width /= 2) value += __shfl_down_sync(kFullWarp, value, width);
  return value;
}

// total[e] = tables[0][e] + tables[1][e] + ..., exact and rounded once (exact_sum.h), for each e < entries; n_tables <=
// kMostTerms.
void sum_tables(CudaRuntime& runtime, const double* tables, std::int64_t n_tables, std::int64_t entries, double* total);
// total[0] = sum of n values in tiles of kRowTile; null values count 1 each, without a pass.
void sum_values(CudaRuntime& runtime, const double* values, std::int64_t n, double* total);

}  // namespace kedge::engine
