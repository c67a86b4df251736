// The steps of k-means++: distances to candidates, and the row where cumulated shares reach a threshold.
#pragma once

#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr int kFewCandidates = 8;   // that a block takes at once

template <class T>
struct Nearest {           // what a step knows before
  const T* closest;        // null: infinity
  const double* weights;   // null: 1 each
  __device__ double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
  __device__ T kept(std::int64_t i, T squared) const { return closest && closest[i] < squared ? closest[i] : squared; }
};

// One thread a row of at most kShortRow columns, read once for up to kFewCandidates candidates; a block has a tile of
// rows, whose shares it sums in order: tile_sums[tile * sums_stride + candidate]. Candidates are rows of `table`, of
// which X are some. Bound by memory.
template <class T>
__global__ void __launch_bounds__(static_cast<int>(kRowTile))
    closer_short(MatrixView<const T> X, MatrixView<const T> table, VectorView<const std::int32_t> candidates,
                 Nearest<T> before, bool in_pieces, MatrixView<T> least, double* tile_sums, std::int64_t sums_stride) {
  __shared__ double centers[kFewCandidates][kShortRow], shares[kFewCandidates][kRowTile];
  const int thread = static_cast<int>(threadIdx.x), d = static_cast<int>(X.cols),
            count = static_cast<int>(candidates.size);
  if (thread < count * kShortRow) {   // 0 beyond the last column, as in `row`: adds nothing
    const int c = thread / kShortRow, j = thread % kShortRow;
    centers[c][j] = j < d ? static_cast<double>(raw(table)[raw(candidates)[c] * table.stride + j]) : 0.0;
  }
  __syncthreads();
  const std::int64_t i = own_item();
  if (i < X.rows) {
    const T* const from = raw(X) + i * X.stride;
    double row[kShortRow];
    KEDGE_UNROLL
    for (int j = 0; j < kShortRow; j += 4) {
      FourValues<T> four{};
      if (in_pieces && j + 4 <= d) four = four_at(from + j);
      else
        for (int e = 0; e < 4; ++e) four.values[e] = j + e < d ? from[j + e] : T{0};
      for (int e = 0; e < 4; ++e) row[j + e] = static_cast<double>(four.values[e]);
    }
    const double weight = before.weight(i);
    for (int c = 0; c < count; ++c) {
      double sum = 0;
      KEDGE_UNROLL
      for (int j = 0; j < kShortRow; ++j) {   // in the order of short_distance()
        const double difference = row[j] - centers[c][j];
        sum += difference * difference;
      }
      const T kept = before.kept(i, static_cast<T>(sum));
      raw(least)[c * least.stride + i] = kept;
      shares[c][thread] = weight * static_cast<double>(kept);
    }
  } else {
    for (int c = 0; c < count; ++c) shares[c][thread] = 0;
  }
  __syncthreads();
  const int c = thread / kLanes;   // a warp for each candidate
  if (thread % kLanes != 0 || c >= count) return;
  double sum = 0;
  for (int e = 0; e < kRowTile; ++e) sum += shares[c][e];
  tile_sums[static_cast<std::int64_t>(blockIdx.x) * sums_stride + c] = sum;
}

// The same of any number of columns: one warp a row; shares: candidates x rows.
template <class T>
__global__ void closer(MatrixView<const T> X, MatrixView<const T> table, VectorView<const std::int32_t> candidates,
                       Nearest<T> before, MatrixView<T> least, double* shares) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t c = 0; c < candidates.size; ++c) {
    const T squared = static_cast<T>(warp_distance<Metric::kEuclidean>(
        raw(X) + i * X.stride, raw(table) + raw(candidates)[c] * table.stride, X.cols, 2.0));
    if (threadIdx.x != 0) continue;
    const T kept = before.kept(i, squared);
    raw(least)[c * least.stride + i] = kept;
    shares[c * X.rows + i] = before.weight(i) * static_cast<double>(kept);
  }
}

template <class T>
struct Shares {
  const T* values;
  const double* weights;
  __device__ double operator()(std::int64_t i) const {
    return (weights ? weights[i] : 1.0) * static_cast<double>(values[i]);
  }
};

// One block a tile: read side by side, summed in order, to every `step`-th of `tiles`.
template <class T>
__global__ void tile_shares(Shares<T> share, std::int64_t n, double* tiles, std::int64_t step) {
  __shared__ double values[kRowTile];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kRowTile + threadIdx.x;
  values[threadIdx.x] = i < n ? share(i) : 0.0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (std::int64_t e = 0; e < kRowTile && blockIdx.x * kRowTile + e < n; ++e) sum += values[e];
  tiles[static_cast<std::int64_t>(blockIdx.x) * step] = sum;
}

// Where the block is in the cumulated sum.
struct Reached {
  std::int64_t place;
  double before;   // the sum of what lies before it
};

// Passes sums[first .. end - 1] until the threshold is reached, or stands at the last: 256 are read side by side, and
// the first thread adds them in order. All threads of the block call it, with `reached` in shared memory.
__device__ inline void pass_sums(const double* sums, std::int64_t first, std::int64_t end, double threshold,
                                 double* values, Reached* reached) {
  if (threadIdx.x == 0) reached->place = first;
  for (; first < end; first += kRowTile) {
    if (first + threadIdx.x < end) values[threadIdx.x] = sums[first + threadIdx.x];
    __syncthreads();
    bool done = false;
    for (int e = 0; threadIdx.x == 0 && e < kRowTile && !done; ++e) {
      done = reached->place + 1 == end || reached->before + values[e] >= threshold;
      if (!done) reached->before += values[e], ++reached->place;
    }
    if (__syncthreads_or(done)) return;
  }
}

// One block a threshold: groups of tiles, the tiles of one group, the rows of one tile; -1 where that is not one of
// `own`, the rows whose shares are there.
template <class T>
__global__ void search_shares(Shares<T> share, std::int64_t n, Part own, const double* tiles, const double* groups,
                              const double* thresholds, std::int32_t* found) {
  __shared__ double values[kRowTile];
  __shared__ Reached reached;
  const double threshold = thresholds[blockIdx.x];
  const std::int64_t n_tiles = (n + kRowTile - 1) / kRowTile, n_groups = (n_tiles + kRowTile - 1) / kRowTile;
  if (threadIdx.x == 0) reached.before = 0;
  pass_sums(groups, 0, n_groups, threshold, values, &reached);
  __syncthreads();
  const std::int64_t tile = reached.place * kRowTile;
  __syncthreads();
  pass_sums(tiles, tile, tile + kRowTile < n_tiles ? tile + kRowTile : n_tiles, threshold, values, &reached);
  __syncthreads();
  const std::int64_t first = reached.place * kRowTile;
  if (first < own.begin || first >= own.end) {
    if (threadIdx.x == 0) found[blockIdx.x] = -1;
    return;
  }
  if (first + threadIdx.x < n) values[threadIdx.x] = share(first + threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0)
    found[blockIdx.x] =
        search_tile(first, n, reached.before, threshold, [&](std::int64_t i) { return values[i - first]; });
}

}   // namespace kedge::engine
