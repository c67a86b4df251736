// Blocks in which one thread goes through one column of one tile of rows: threads along x take neighbouring columns,
// along y tiles, so that narrow tables fill them, too.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/functors.h"

namespace kedge::engine {

inline dim3 tile_block(std::int64_t cols) {
  constexpr unsigned kThreads = 128;
  unsigned across = 1;
  while (across < 32 && across < cols) across *= 2;
  return dim3(across, kThreads / across);
}
inline dim3 tile_grid(const CudaRuntime& gpu, std::int64_t tiles, std::int64_t cols) {
  const dim3 block = tile_block(cols);
  return tall_grid(gpu, blocks_for(tiles, block.y), blocks_for(cols, block.x));
}

__device__ inline std::int64_t tile_column() {
  return block_y() * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t own_tile() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}

}   // namespace kedge::engine
