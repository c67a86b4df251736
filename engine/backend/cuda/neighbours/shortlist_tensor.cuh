// shortlist_points() on tensor units: lists of all points that may be among a query's nearest, as far as the bound of
// TensorError tells. 2 m n d flops from one part of each value, three times as many where that leaves too many.
#pragma once

#include "engine/backend/cuda/neighbours/tensor_tiles.cuh"

namespace kedge::engine {

// Scores are halves of squared distances without the query's norm, less what is uncertain of the point's part.
struct TensorShortlist {
  SplitRows queries, points;
  TensorError coarse, fine;   // of one part and of two
  std::int64_t m, n, range;   // points are cut into ranges of this many, a multiple of kTile
  int k, capacity;            // of a list, >= 2 k + 2 kTile
  float* scores;              // m x ranges x capacity
  std::int32_t* indices;      // as scores
  int* counts;                // m x ranges; -1: given up, only an exact search can tell
};

// Orders as the floats do; no NaN.
__device__ inline unsigned ordered_bits(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ inline float largest_of_warp(float value) {
  for (int width = kLanes / 2; width > 0; width /= 2) value = fmaxf(value, __shfl_xor_sync(kFullWarp, value, width));
  return value;
}

// One warp cuts a list of n > k scores down to those that may be among the k nearest; returns how many. k points are at
// most as far as the largest upper bound among k or more with the lowest scores, and a score is a lower bound.
__device__ inline int prune_list(const TensorShortlist& job, float share, float uncertain, float* scores,
                                 std::int32_t* indices, int n, float* cut) {
  constexpr int kLastBit = 8;   // those below are taken as ones, which lets a few more pass
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  unsigned kth = 0;   // the bits of the k-th score, from the highest on
  for (int bit = 31; bit >= kLastBit; --bit) {
    int below = 0;
    for (int e = lane; e < n; e += kLanes) below += ordered_bits(scores[e]) < (kth | 1u << bit) ? 1 : 0;
    for (int width = kLanes / 2; width > 0; width /= 2) below += __shfl_xor_sync(kFullWarp, below, width);
    if (below < job.k) kth |= 1u << bit;
  }
  kth |= (1u << kLastBit) - 1;
  float upper = -std::numeric_limits<float>::infinity();
  for (int e = lane; e < n; e += kLanes) {
    if (ordered_bits(scores[e]) > kth) continue;
    upper = fmaxf(upper, scores[e] + 2 * share * job.points.half_norms[indices[e]]);
  }
  *cut = largest_of_warp(upper) + uncertain;
  int kept = 0;
  for (int first = 0; first < n; first += kLanes) {
    const int e = first + lane;
    const float score = e < n ? scores[e] : 0;
    const std::int32_t index = e < n ? indices[e] : 0;
    const bool stays = e < n && score <= *cut;
    const unsigned stay = __ballot_sync(kFullWarp, stays);
    __syncwarp();
    const int at = kept + __popc(stay & ((1u << lane) - 1));
    if (stays) scores[at] = score, indices[at] = index;
    kept += __popc(stay);
    __syncwarp();
  }
  return kept;
}

// Prunes the lists of more than `most` points, a warp each.
__device__ inline void prune_lists(const TensorShortlist& job, TensorError error, int most, int* counts,
                                   float* limits) {
  const int warp = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * SplitRows::kTile, ranges = gridDim.y;
  for (int q = warp; q < SplitRows::kTile; q += SplitRows::kThreads / kLanes) {
    const int n = counts[q];
    if (n <= most) continue;
    const std::int64_t list = ((query + q) * ranges + blockIdx.y) * job.capacity;
    const float uncertain = 2 * error.share * job.queries.half_norms[query + q] + error.least;
    float cut = 0;
    const int kept = prune_list(job, error.share, uncertain, job.scores + list, job.indices + list, n, &cut);
    const bool full = kept > job.capacity - SplitRows::kTile;   // the next tile might not fit
    if (lane == 0) counts[q] = full ? -1 : kept, limits[q] = full ? -std::numeric_limits<float>::infinity() : cut;
  }
  __syncthreads();
}

// Lists what the scores of a pair of tiles let pass.
__device__ inline void list_pairs(const TensorShortlist& job, float share, const float (&sums)[4][4][4],
                                  std::int64_t point, int* counts, const float* limits) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * SplitRows::kTile, ranges = gridDim.y;
  float norms[8];
  KEDGE_UNROLL
  for (int c = 0; c < 8; ++c)
    norms[c] = job.points.half_norms[point + TensorPlaces::column_of(thread, c / 2 * 4 + c % 2)] * (1 - share);
  KEDGE_UNROLL
  for (int r = 0; r < 8; ++r) {
    const int m = r / 2, first = 2 * (r % 2), q = TensorPlaces::row_of(thread, 16 * m + first);
    const float limit = limits[q];   // of a list that was given up: below every score
    bool is_open = false;
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c) is_open = is_open || norms[c] - sums[m][c / 2][first + c % 2] <= limit;
    if (!is_open || counts[q] < 0) continue;
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c) {
      const float score = norms[c] - sums[m][c / 2][first + c % 2];
      const std::int64_t p = point + TensorPlaces::column_of(thread, c / 2 * 4 + c % 2);
      if (!(score <= limit) || p >= job.n) continue;
      const std::int64_t slot = ((query + q) * ranges + blockIdx.y) * job.capacity + atomicAdd(&counts[q], 1);
      job.scores[slot] = score;
      job.indices[slot] = static_cast<std::int32_t>(p);
    }
  }
}

// All points of the block's range against its queries. Whether no list was given up; it ends with the first that is, if
// `must_all`.
template <int kParts>
__device__ bool list_range(const TensorShortlist& job, TensorError error, bool must_all, unsigned char* shared,
                           int* counts, float* limits) {
  constexpr int kTile = SplitRows::kTile;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int own = static_cast<int>(threadIdx.x) % kTile;
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTile + own;
  const bool usable = query < job.m && job.queries.half_norms[query] < kInfinity && *job.points.beyond == 0;
  if (threadIdx.x < kTile) counts[own] = usable ? 0 : -1, limits[own] = usable ? kInfinity : -kInfinity;
  const std::int64_t begin = blockIdx.y * job.range, end = begin + job.range < job.n ? begin + job.range : job.n;
  float sums[4][4][4];
  TensorProducts<kParts> products(job.queries, blockIdx.x, job.points, shared);
  products.start(begin / kTile, (end + kTile - 1) / kTile);
  for (std::int64_t point = begin; point < end; point += kTile) {
    products.next(sums);
    list_pairs(job, error.share, sums, point, counts, limits);
    __syncthreads();
    if (!__syncthreads_or(counts[own] > job.capacity - kTile)) continue;   // nearly always
    prune_lists(job, error, job.capacity - kTile, counts, limits);
    if (__syncthreads_or(usable && counts[own] < 0) && must_all) return false;
  }
  prune_lists(job, error, job.k, counts, limits);
  return !__syncthreads_or(usable && counts[own] < 0);
}

// Block (query tile, range of points).
static __global__ void __launch_bounds__(256, 2) shortlist_tensor(TensorShortlist job) {
  constexpr int kTile = SplitRows::kTile;
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  __shared__ int counts[kTile];
  __shared__ float limits[kTile];
  if (!list_range<1>(job, job.coarse, true, shared, counts, limits))
    list_range<2>(job, job.fine, false, shared, counts, limits);
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTile, ranges = gridDim.y;
  for (int q = static_cast<int>(threadIdx.x); q < kTile && query + q < job.m; q += SplitRows::kThreads)
    job.counts[(query + q) * ranges + blockIdx.y] = counts[q];
}

}   // namespace kedge::engine
