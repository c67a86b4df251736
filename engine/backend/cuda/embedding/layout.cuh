// The kernels of UMAP's layout: a step of an epoch, a thread a place. A block's places are those whose draws have one
// key. Reads the edges of a step once, and a place for each that is due: 10 to 20 us for 20,000 places on an H100, by
// latency.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/layout_functors.h"
#include "engine/core/rng.h"

namespace kedge::engine {

struct DeviceLayoutEdges {
  const std::int64_t* begin;
  const std::int32_t* columns;
  const float* shares;
};

struct LayoutStep {
  LayoutForce force;
  std::int64_t negatives;
  std::uint64_t seed;
  std::int64_t epoch;
  int step;
  float rate;
};

// What a place sees in a step: the edges of two groups that are due, and places by chance with numbers from `draw` on.
struct SeenOfPlace {
  std::int64_t begin, end, draw, draws;
  std::uint32_t key[2];
};

// The sum of the values of the threads before this one; blocks of kLayoutBlock.
__device__ inline std::int64_t sum_before(std::int64_t value) {
  __shared__ std::int64_t warps[kLayoutBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::int64_t sum = value;
  for (int width = 1; width < 32; width *= 2) {
    const std::int64_t other = __shfl_up_sync(kFullWarp, sum, width);
    if (lane >= width) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += warps[w];
  return sum - value;
}

__device__ inline SeenOfPlace see_place(const DeviceLayoutEdges& edges, const LayoutStep& step, std::int64_t i,
                                        std::int64_t n) {
  const int part = step.step % kLayoutParts;
  const bool second_draws = step.step / kLayoutParts != 0;
  SeenOfPlace seen{};
  if (i < n) {
    const std::int64_t* const group = edges.begin + kLayoutSteps * i + 2 * part;
    seen.begin = group[0], seen.end = group[2];
    const std::int64_t from = second_draws ? group[1] : group[0], to = second_draws ? group[2] : group[1];
    for (std::int64_t e = from; e < to; ++e)
      seen.draws += is_due(edges.shares[e], static_cast<float>(step.epoch)) ? step.negatives : 0;
  }
  seen.draw = sum_before(seen.draws);
  const PhiloxBlock key =
      philox(step.seed, static_cast<std::uint64_t>(step.epoch * kLayoutSteps + step.step), blockIdx.x);
  seen.key[0] = key.word[0], seen.key[1] = key.word[1];
  return seen;
}

__device__ inline std::int64_t drawn_place(const SeenOfPlace& seen, std::int64_t t, std::int64_t n) {
  return place_by_chance(seen.key[0], seen.key[1], static_cast<std::uint32_t>(seen.draw + t),
                         static_cast<std::uint32_t>(n));
}

// sums += how `other` moves a place at `own`.
template <int kDims>
__device__ void add_move(const LayoutForce& force, const float* own, const float* other, bool is_pull, float* sums) {
  float gap[kDims], square = 0;
  KEDGE_UNROLL
  for (int d = 0; d < kDims; ++d) {
    gap[d] = own[d] - other[d];
    square += gap[d] * gap[d];
  }
  const float slope = is_pull ? pull_slope(force, square) : push_slope(force, square);
  KEDGE_UNROLL
  for (int d = 0; d < kDims; ++d) sums[d] += clipped_move(slope * gap[d]);
}

// to = from, moved by a step; in few dimensions.
template <int kDims>
__global__ void move_places(DeviceLayoutEdges edges, LayoutStep step, const float* from, float* to, std::int64_t n) {
  const std::int64_t i = own_item();
  const SeenOfPlace seen = see_place(edges, step, i, n);
  if (i >= n) return;
  float own[kDims], pulled[kDims] = {}, pushed[kDims] = {};
  KEDGE_UNROLL
  for (int d = 0; d < kDims; ++d) own[d] = from[i * kDims + d];
  for (std::int64_t e = seen.begin; e < seen.end; ++e)
    if (is_due(edges.shares[e], static_cast<float>(step.epoch)))
      add_move<kDims>(step.force, own, from + std::int64_t{edges.columns[e]} * kDims, true, pulled);
  for (std::int64_t t = 0; t < seen.draws; ++t)
    add_move<kDims>(step.force, own, from + drawn_place(seen, t, n) * kDims, false, pushed);
  KEDGE_UNROLL
  for (int d = 0; d < kDims; ++d) to[i * kDims + d] = own[d] + step.rate * (0.0F + pulled[d] + pushed[d]);
}

// The same in many: sums lie in memory. sums += how `other` moves a place at `own`.
__device__ inline void add_wide_move(const LayoutForce& force, const float* own, const float* other, bool is_pull,
                                     std::int64_t dims, float* sums) {
  float square = 0;
  for (std::int64_t d = 0; d < dims; ++d) {
    const float gap = own[d] - other[d];
    square += gap * gap;
  }
  const float slope = is_pull ? pull_slope(force, square) : push_slope(force, square);
  for (std::int64_t d = 0; d < dims; ++d) sums[d] += clipped_move(slope * (own[d] - other[d]));
}

// `pushed` has a place for each of n x dims numbers.
__global__ void move_wide_places(DeviceLayoutEdges edges, LayoutStep step, const float* from, float* to, float* pushed,
                                 std::int64_t n, std::int64_t dims) {
  const std::int64_t i = own_item();
  const SeenOfPlace seen = see_place(edges, step, i, n);
  if (i >= n) return;
  const float* const own = from + i * dims;
  float *const pulls = to + i * dims, *const pushes = pushed + i * dims;
  for (std::int64_t d = 0; d < dims; ++d) pulls[d] = pushes[d] = 0;
  for (std::int64_t e = seen.begin; e < seen.end; ++e)
    if (is_due(edges.shares[e], static_cast<float>(step.epoch)))
      add_wide_move(step.force, own, from + edges.columns[e] * dims, true, dims, pulls);
  for (std::int64_t t = 0; t < seen.draws; ++t)
    add_wide_move(step.force, own, from + drawn_place(seen, t, n) * dims, false, dims, pushes);
  for (std::int64_t d = 0; d < dims; ++d) pulls[d] = own[d] + step.rate * (0.0F + pulls[d] + pushes[d]);
}

}   // namespace kedge::engine
