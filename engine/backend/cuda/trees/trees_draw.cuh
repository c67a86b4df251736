// The kernels that draw the rows of trees of counted classes: how often each position is drawn, then the rows that
// were, in order.
#pragma once

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/trees_counters.cuh"

namespace kedge::engine {

inline constexpr int kDrawThreads = 256, kDrawWarps = kDrawThreads / 32;
inline constexpr std::int64_t kDrawTile = 1024;   // positions that a block counts or takes

// What trees are drawn from, by position among the forest's rows.
struct DrawnRows {
  std::int64_t n;
  const std::uint32_t* counts;   // trees x n; null: each is drawn once
  const std::int32_t* rows;      // of the table; null: all of them
  const std::int32_t* classes;   // by row of the table
  std::int32_t n_classes;

  __device__ std::uint32_t count(std::int64_t tree, std::int64_t i) const {
    return i >= n ? 0 : counts ? counts[tree * n + i] : 1;
  }
  __device__ std::uint32_t row(std::int64_t i) const { return static_cast<std::uint32_t>(rows ? rows[i] : i); }
};

// Two draws a thread, as draw_rows() of the host; a row of blocks for each tree. Limited by the atomics, which lie in
// L2.
static __global__ void count_draws(std::uint64_t seed, std::int64_t first_tree, std::int64_t draws, std::int64_t n,
                                   std::uint32_t* counts) {
  const std::int64_t pair = own_item(), tree = blockIdx.y;
  if (2 * pair >= draws) return;
  const PhiloxBlock block = philox(seed, bootstrap_stream(first_tree + tree), static_cast<std::uint64_t>(pair));
  std::uint32_t* const own = counts + tree * n;
  atomicAdd(&own[bootstrap_pick(block.word, static_cast<std::uint64_t>(n))], 1u);
  if (2 * pair + 1 < draws) atomicAdd(&own[bootstrap_pick(block.word + 2, static_cast<std::uint64_t>(n))], 1u);
}

// Counts the drawn rows of each tile, and the draws of each class. most: of a row, where that is more than a CountedRow
// holds.
static __global__ void count_rows(DrawnRows from, std::int64_t n_tiles, std::int32_t* of_tile, std::int32_t* of_class,
                                  std::uint32_t* most) {
  const std::int64_t tree = blockIdx.y, first = std::int64_t{blockIdx.x} * kDrawTile;
  std::int32_t count = 0;
  for (std::int64_t begin = first; begin < first + kDrawTile; begin += kDrawThreads) {
    const std::int64_t i = begin + threadIdx.x;
    const std::uint32_t draws = from.count(tree, i);
    count += __popc(__ballot_sync(kFullWarp, draws > 0));
    if (draws > 0)
      atomicAdd(&of_class[tree * from.n_classes + from.classes[from.row(i)]], static_cast<std::int32_t>(draws));
    if (draws > 0xffff) atomicMax(most, draws);
  }
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(&of_tile[tree * n_tiles + blockIdx.x], count);
}

// Makes the counts of each tree's tiles the places where they begin, one warp each; of_tree: their sums.
static __global__ void scan_tiles(std::int64_t n_tiles, std::int32_t* of_tile, std::int32_t* of_tree) {
  const int lane = static_cast<int>(threadIdx.x);
  std::int32_t* const own = of_tile + std::int64_t{blockIdx.x} * n_tiles;
  std::int32_t before = 0;
  for (std::int64_t first = 0; first < n_tiles; first += 32) {
    const std::int32_t count = first + lane < n_tiles ? own[first + lane] : 0;
    std::int32_t sum = count;
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t lower = __shfl_up_sync(kFullWarp, sum, step);
      if (lane >= step) sum += lower;
    }
    if (first + lane < n_tiles) own[first + lane] = before + sum - count;
    before += __shfl_sync(kFullWarp, sum, 31);
  }
  if (lane == 0) of_tree[blockIdx.x] = before;
}

// Writes the drawn rows of each tree from begin[tree] on, in the order of their positions.
static __global__ void put_rows(DrawnRows from, std::int64_t n_tiles, const std::int32_t* of_tile,
                                const std::int64_t* begin, CountedRow* out) {
  __shared__ std::int32_t of_warp[kDrawWarps];
  const std::int64_t tree = blockIdx.y, first = std::int64_t{blockIdx.x} * kDrawTile;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  CountedRow* const own = out + begin[tree];
  std::int32_t before = of_tile[tree * n_tiles + blockIdx.x];
  for (std::int64_t tile = first; tile < first + kDrawTile; tile += kDrawThreads) {
    const std::int64_t i = tile + threadIdx.x;
    const std::uint32_t draws = from.count(tree, i);
    const unsigned drawn = __ballot_sync(kFullWarp, draws > 0);
    if (lane == 0) of_warp[warp] = __popc(drawn);
    __syncthreads();
    std::int32_t place = before + __popc(drawn & ((1u << lane) - 1));
    for (int w = 0; w < warp; ++w) place += of_warp[w];
    for (int w = 0; w < kDrawWarps; ++w) before += of_warp[w];
    if (draws > 0) {
      const std::uint32_t row = from.row(i);
      own[place] = {row, static_cast<std::uint16_t>(from.classes[row]), static_cast<std::uint16_t>(draws)};
    }
    __syncthreads();
  }
}

}   // namespace kedge::engine
