// Kernels of Ward's linkage: the nearest cluster of each, and the merges of pairs that are each other's nearest.
#pragma once

#include "engine/backend/cuda/neighbours/exact_tiles.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/ops/ward_merges.h"

namespace kedge::engine {

struct WardState {
  double *centroids, *sizes;   // of the cluster that each row names; a size of 0: it is gone
  std::int64_t n, d;
  NearestRow* nearest;
  std::int32_t *partner, *live, *next_live, *active;   // partner: -1 where it is not merged; active: to ask for
  WardMerge* merges;
  std::int32_t* counts;
};
enum WardCount { kWardMerges, kWardTies, kWardLive, kWardActive, kWardCounts };

static __global__ void begin_ward(WardState s) {
  const std::int64_t i = own_item();
  if (i >= s.n) return;
  s.live[i] = s.active[i] = static_cast<std::int32_t>(i);
  s.sizes[i] = 1;
}

// Block (x, y): a tile of active clusters against the y-th share of the living, of `share` of them.
static __global__ void __launch_bounds__(kExactThreads)
    nearest_clusters(WardState s, std::int64_t n_active, std::int64_t n_live, std::int64_t share, NearestRow* found) {
  __shared__ double left[kExactTile * kExactStride], right[kExactTile * kExactStride];
  const int x = static_cast<int>(threadIdx.x) % kExactSide, y = static_cast<int>(threadIdx.x) / kExactSide;
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kExactTile, begin = blockIdx.y * share,
                     end = begin + share < n_live ? begin + share : n_live;
  NearestRow best[kExactMicro];
  std::int32_t own[kExactMicro];
  double own_size[kExactMicro];
  KEDGE_UNROLL
  for (int a = 0; a < kExactMicro; ++a) {
    const std::int64_t p = place + y + kExactSide * a;
    own[a] = p < n_active ? s.active[p] : -1;
    own_size[a] = own[a] < 0 ? 1 : s.sizes[own[a]];
    best[a] = {0, 0, -1, 0};
  }
  for (std::int64_t tile = begin; tile < end; tile += kExactTile) {
    double sums[kExactMicro][kExactMicro];
    exact_distances<Metric::kEuclidean>({s.centroids, s.d, s.d}, {s.active, place, n_active}, {s.live, tile, end}, 2,
                                        left, right, sums);
    KEDGE_UNROLL
    for (int b = 0; b < kExactMicro; ++b) {
      if (tile + x + kExactSide * b >= end) continue;
      const std::int32_t other = s.live[tile + x + kExactSide * b];
      const double size = s.sizes[other];
      KEDGE_UNROLL
      for (int a = 0; a < kExactMicro; ++a) {
        if (own[a] < 0 || own[a] == other) continue;
        const double gap = sums[a][b] * (2 * own_size[a] * size / (own_size[a] + size));
        if (best[a].row < 0 || gap <= best[a].length) best[a] = nearer(best[a], {gap, 0, other, 0});
      }
    }
  }
  KEDGE_UNROLL
  for (int a = 0; a < kExactMicro; ++a) {
    best[a] = nearest_of_lanes(best[a]);
    const std::int64_t p = place + y + kExactSide * a;
    if (x == 0 && p < n_active) found[blockIdx.y * n_active + p] = best[a];
  }
}

static __global__ void take_clusters(WardState s, std::int64_t n_active, std::int64_t shares, const NearestRow* found) {
  const std::int64_t p = own_item();
  if (p >= n_active) return;
  NearestRow best = found[p];
  for (std::int64_t share = 1; share < shares; ++share) best = nearer(best, found[share * n_active + p]);
  s.nearest[s.active[p]] = best;
  if (best.tied) atomicAdd(s.counts + kWardTies, 1);
}

static __global__ void choose_pairs(WardState s, std::int64_t n_live) {
  const std::int64_t p = own_item();
  if (p >= n_live) return;
  const std::int32_t i = s.live[p], j = s.nearest[i].row;
  const bool is_pair = s.nearest[j].row == i;
  s.partner[i] = is_pair ? j : -1;
  if (is_pair && i < j) s.merges[atomicAdd(s.counts + kWardMerges, 1)] = {i, j, s.nearest[i].length};
}

// The lower cluster takes the higher one in, whose size becomes 0 later: others still read it.
static __global__ void move_centroids(WardState s, std::int64_t n_live) {
  const std::int64_t p = own_row();
  if (p >= n_live) return;
  const std::int32_t to = s.live[p], from = s.partner[to];
  if (from < to) return;
  const double share = s.sizes[from] / (s.sizes[to] + s.sizes[from]);
  for (std::int64_t c = threadIdx.x; c < s.d; c += blockDim.x) {
    double& centre = s.centroids[to * s.d + c];
    centre += (s.centroids[from * s.d + c] - centre) * share;
  }
}

// Sizes, the clusters that live on, and those whose nearest is another now.
static __global__ void list_clusters(WardState s, std::int64_t n_live) {
  const std::int64_t p = own_item();
  if (p >= n_live) return;
  const std::int32_t i = s.live[p], partner = s.partner[i];
  if (partner >= 0 && partner < i) return;
  s.next_live[atomicAdd(s.counts + kWardLive, 1)] = i;
  if (partner >= 0) s.sizes[i] += s.sizes[partner];
  if (partner >= 0 || s.partner[s.nearest[i].row] >= 0) s.active[atomicAdd(s.counts + kWardActive, 1)] = i;
}

}   // namespace kedge::engine
