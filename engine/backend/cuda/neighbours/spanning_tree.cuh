// Kernels of Boruvka's algorithm: the nearest row of another part for each row, the least edge of each part, and
// unions. The least of a part is found in steps, as the bits of numbers that are not negative are ordered as they are.
#pragma once

#include "engine/backend/cuda/neighbours/exact_tiles.cuh"
#include "engine/backend/cuda/neighbours/union_find.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/ops/spanning_tree.h"

namespace kedge::engine {

using EdgeKey = unsigned long long;

struct SpanState {
  const double *points, *reach;   // reach: null for 0
  std::int64_t n, d, stride;
  std::int32_t *parents, *part, *active;   // part: the lowest row of each row's part; active: rows to ask for
  NearestRow* nearest;
  EdgeKey *length, *between, *low, *high;   // of each part: the least, and the rows of the edge, the least and the last
  SpanningEdge* edges;
  std::int32_t* counts;   // edges, active rows, ties
};
enum SpanCount { kSpanEdges, kSpanActive, kSpanTies, kSpanCounts };

static __global__ void begin_span(SpanState s) {
  const std::int64_t i = own_item();
  if (i >= s.n) return;
  s.parents[i] = s.part[i] = s.active[i] = static_cast<std::int32_t>(i);
}

// Block (x, y): a tile of active rows against the y-th share of all rows, of `share` of them. found[y][active place].
// n^2 d terms in double where all rows are active.
template <Metric M>
__global__ void __launch_bounds__(kExactThreads)
    nearest_others(SpanState s, double power, std::int64_t n_active, std::int64_t share, NearestRow* found) {
  __shared__ double left[kExactTile * kExactStride], right[kExactTile * kExactStride];
  const int x = static_cast<int>(threadIdx.x) % kExactSide, y = static_cast<int>(threadIdx.x) / kExactSide;
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kExactTile, begin = blockIdx.y * share,
                     end = begin + share < s.n ? begin + share : s.n;
  NearestRow best[kExactMicro];
  std::int32_t part[kExactMicro];
  double own_reach[kExactMicro];
  KEDGE_UNROLL
  for (int a = 0; a < kExactMicro; ++a) {
    const std::int64_t p = place + y + kExactSide * a;
    const std::int32_t row = p < n_active ? s.active[p] : -1;
    best[a] = {0, 0, -1, 0};
    part[a] = row < 0 ? -1 : s.part[row];
    own_reach[a] = row < 0 || !s.reach ? 0 : s.reach[row];
  }
  for (std::int64_t tile = begin; tile < end; tile += kExactTile) {
    double sums[kExactMicro][kExactMicro];
    exact_distances<M>({s.points, s.d, s.stride}, {s.active, place, n_active}, {nullptr, tile, end}, power, left, right,
                       sums);
    KEDGE_UNROLL
    for (int b = 0; b < kExactMicro; ++b) {
      const std::int64_t j = tile + x + kExactSide * b;
      if (j >= end) continue;
      const std::int32_t other = s.part[j];
      const double other_reach = s.reach ? s.reach[j] : 0;
      KEDGE_UNROLL
      for (int a = 0; a < kExactMicro; ++a) {
        if (part[a] < 0 || part[a] == other) continue;
        const double between = sums[a][b], reached = own_reach[a] > other_reach ? own_reach[a] : other_reach,
                     length = between > reached ? between : reached;
        if (best[a].row < 0 || length <= best[a].length)
          best[a] = nearer(best[a], {length, between, static_cast<std::int32_t>(j), 0});
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

// Of all shares; and clears what parts will find.
static __global__ void take_nearest(SpanState s, std::int64_t n_active, std::int64_t shares, const NearestRow* found) {
  const std::int64_t p = own_item();
  if (p < s.n) s.length[p] = s.between[p] = s.low[p] = ~EdgeKey{0}, s.high[p] = 0;
  if (p >= n_active) return;
  NearestRow best = found[p];
  for (std::int64_t share = 1; share < shares; ++share) best = nearer(best, found[share * n_active + p]);
  s.nearest[s.active[p]] = best;
}

__device__ inline EdgeKey ordered_bits(double value) {
  return static_cast<EdgeKey>(__double_as_longlong(value));
}

// Both rows of the edge from row i, the lower one first.
__device__ inline EdgeKey rows_of_edge(std::int32_t i, std::int32_t j) {
  const std::int32_t low = i < j ? i : j, high = i < j ? j : i;
  return static_cast<EdgeKey>(low) << 32 | static_cast<EdgeKey>(high);
}

static __global__ void least_lengths(SpanState s) {
  const std::int64_t i = own_item();
  if (i < s.n) atomicMin(s.length + s.part[i], ordered_bits(s.nearest[i].length));
}

static __global__ void least_between(SpanState s) {
  const std::int64_t i = own_item();
  if (i < s.n && ordered_bits(s.nearest[i].length) == s.length[s.part[i]])
    atomicMin(s.between + s.part[i], ordered_bits(s.nearest[i].between));
}

static __global__ void least_rows(SpanState s) {
  const std::int64_t i = own_item();
  if (i >= s.n) return;
  const NearestRow own = s.nearest[i];
  const std::int32_t part = s.part[i];
  if (ordered_bits(own.length) != s.length[part] || ordered_bits(own.between) != s.between[part]) return;
  const EdgeKey rows = rows_of_edge(static_cast<std::int32_t>(i), own.row);
  atomicMin(s.low + part, rows), atomicMax(s.high + part, rows);
  if (own.tied) atomicAdd(s.counts + kSpanTies, 1);
}

// The edge of each part joins it to another. An edge that both ends have chosen is taken for the lower part.
static __global__ void join_parts(SpanState s) {
  const std::int64_t i = own_item();
  if (i >= s.n || s.part[i] != i) return;
  const EdgeKey rows = s.low[i];
  if (rows != s.high[i]) atomicAdd(s.counts + kSpanTies, 1);
  const auto a = static_cast<std::int32_t>(rows >> 32), b = static_cast<std::int32_t>(rows & 0xffffffffu);
  const std::int32_t other = s.part[a] == i ? s.part[b] : s.part[a];
  if (s.low[other] == rows && other < i) return;
  s.edges[atomicAdd(s.counts + kSpanEdges, 1)] = {a, b, __longlong_as_double(static_cast<long long>(s.length[i])),
                                                  __longlong_as_double(static_cast<long long>(s.between[i]))};
  unite(s.parents, a, b);
}

static __global__ void name_parts(SpanState s) {
  const std::int64_t i = own_item();
  if (i < s.n) s.part[i] = find_root(s.parents, static_cast<std::int32_t>(i));
}

// Rows whose nearest row of another part is of their own now.
static __global__ void list_active(SpanState s) {
  const std::int64_t i = own_item();
  if (i < s.n && s.part[s.nearest[i].row] == s.part[i])
    s.active[atomicAdd(s.counts + kSpanActive, 1)] = static_cast<std::int32_t>(i);
}

}   // namespace kedge::engine
