// The first half of nearest neighbours on the GPU: scores by tiles of a matrix product, filtered into a shortlist per query
// without being stored. 2 m n d flops against (m + n) d values read per tile: bound by arithmetic.
#pragma once

#include "engine/backend/cuda/neighbours/tile_product.cuh"
#include "engine/backend/cuda/tables/sort.cuh"
#include "engine/backend/functors.h"

namespace kedge::engine {

template <class T>
struct ShortlistJob {
  const T *queries, *points;           // centred, m x d and n x d, no padding
  const T *query_errors, *norms;       // m: bound on a score's error; n: squared norms
  std::int64_t m, n, d, range;         // points are cut into ranges of this many
  int k, capacity;                     // of a list, a power of two >= 2 k + kTile
  T* scores;                           // m x ranges x capacity
  std::int32_t* indices;               // as scores
  int* counts;                         // m x ranges; -1: given up, only an exact search can tell
};

// Sorts a query's list and cuts it at the k-th score + 2 errors: k distances are at most the k-th score + one error, and a score
// is at most one error above its distance.
template <class T>
__device__ void prune(const ShortlistJob<T>& job, std::int64_t list, T error, SharedPairs<T> pairs, T infinity, int* count, T* limit) {
  T* const scores = job.scores + list * job.capacity;
  std::int32_t* const indices = job.indices + list * job.capacity;
  const int n = *count;
  for (int e = static_cast<int>(threadIdx.x); e < job.capacity; e += static_cast<int>(blockDim.x)) {
    pairs.keys[e] = e < n ? scores[e] : infinity;
    pairs.indices[e] = e < n ? indices[e] : 0x7fffffff;
  }
  pairs.sort();
  const T cut = pairs.keys[job.k - 1] + 2 * error;
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < n; e += static_cast<int>(blockDim.x)) {
    if (!(pairs.keys[e] <= cut)) continue;
    scores[e] = pairs.keys[e];   // sorted: those that stay are the first
    indices[e] = pairs.indices[e];
    atomicAdd(count, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool full = *count > job.capacity - TileShape<T>::kTile;   // the next tile might not fit
    *limit = full ? -infinity : cut;
    if (full) *count = -1;
  }
  __syncthreads();
}

// Block (query tile, range of points).
template <class T>
__global__ void __launch_bounds__(256, 2) shortlist_points(ShortlistJob<T> job, T infinity) {
  using Shape = TileShape<T>;
  constexpr int kMicro = Shape::kMicro, kTile = Shape::kTile;
  KEDGE_DYNAMIC_SHARED(T, shared);
  __shared__ int counts[kTile];
  __shared__ T limits[kTile];
  const SharedPairs<T> pairs{shared, reinterpret_cast<std::int32_t*>(shared + job.capacity),
                             job.capacity};   // where the tiles are, between two of them
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTile, ranges = gridDim.y;
  const std::int64_t begin = blockIdx.y * job.range, end = begin + job.range < job.n ? begin + job.range : job.n;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  for (int q = static_cast<int>(threadIdx.x); q < kTile; q += Shape::kThreads) {
    const bool usable = query + q < job.m && job.query_errors[query + q] < infinity;
    counts[q] = usable ? 0 : -1;
    limits[q] = usable ? infinity : -infinity;
  }
  __syncthreads();
  T dots[kMicro][kMicro];
  for (std::int64_t point = begin; point < end; point += kTile) {
    multiply_tiles<T>({job.queries, job.m, job.d}, {job.points, job.n, job.d}, query, point, end, shared, dots);
    T norms[kMicro];
    KEDGE_UNROLL
    for (int j = 0; j < kMicro; ++j) {
      const std::int64_t p = point + tile_place(x, j);
      norms[j] = p < end ? job.norms[p] : infinity;
    }
    KEDGE_UNROLL
    for (int i = 0; i < kMicro; ++i) {
      const int q = tile_place(y, i);
      const T limit = limits[q];   // of a list that was given up: below every score
      KEDGE_UNROLL
      for (int j = 0; j < kMicro; ++j) {
        const T score = norms[j] - 2 * dots[i][j];
        if (!(score <= limit)) continue;
        const std::int64_t p = point + tile_place(x, j);
        if (p >= end || counts[q] < 0) continue;
        const std::int64_t slot = ((query + q) * ranges + blockIdx.y) * job.capacity + atomicAdd(&counts[q], 1);
        job.scores[slot] = score;
        job.indices[slot] = static_cast<std::int32_t>(p);
      }
    }
    const int own = static_cast<int>(threadIdx.x) % kTile;
    __syncthreads();
    if (!__syncthreads_or(counts[own] > job.capacity - kTile)) continue;   // nearly always
    for (int q = 0; q < kTile; ++q) {
      const bool crowded = counts[q] > job.capacity - kTile;
      __syncthreads();   // all have looked before prune changes it
      if (crowded) prune(job, (query + q) * ranges + blockIdx.y, job.query_errors[query + q], pairs, infinity, &counts[q], &limits[q]);
    }
  }
  for (int q = static_cast<int>(threadIdx.x); q < kTile; q += Shape::kThreads) {
    if (query + q < job.m) job.counts[(query + q) * ranges + blockIdx.y] = counts[q];
  }
}

}  // namespace kedge::engine
