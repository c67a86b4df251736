// Exact distances between many rows: tiles of both sides in shared memory, pairs in registers, summed column after
// column in double as the host sums them.
#pragma once

#include <algorithm>

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/distance.h"

namespace kedge::engine {

inline constexpr int kExactSide = 16, kExactMicro = 4, kExactTile = kExactSide * kExactMicro;   // threads, pairs, rows
inline constexpr int kExactDepth = 16, kExactStride = kExactDepth + 1;   // columns; no bank twice
inline constexpr int kExactThreads = kExactSide * kExactSide;

// How a scan of `n_left` rows against `n_right` becomes blocks: tiles of the first, each against shares of the second,
// so that few rows occupy the whole GPU, too.
struct ScanCut {
  std::int64_t tiles, shares, share;   // share: rows of one
  dim3 grid() const { return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(shares)); }
};

inline ScanCut cut_scan(const CudaRuntime& runtime, std::int64_t n_left, std::int64_t n_right) {
  constexpr std::int64_t kMostShares = 64, kBlocksEach = 8;   // of a multiprocessor
  const std::int64_t tiles = tiles_of(n_left, kExactTile), all = tiles_of(n_right, kExactTile),
                     wanted = tiles_of(kBlocksEach * runtime.multiprocessors(), std::max<std::int64_t>(tiles, 1)),
                     shares = std::clamp<std::int64_t>(wanted, 1, std::min(all, kMostShares)),
                     share = tiles_of(all, shares) * kExactTile;
  return {tiles, tiles_of(n_right, share), share};
}

struct ExactPoints {
  const double* values;
  std::int64_t d, stride;
};

// Places first .. end - 1 of a list of rows; without a list a place is its row.
struct RowList {
  const std::int32_t* rows;
  std::int64_t first, end;
  __device__ std::int32_t at(std::int64_t place) const { return rows ? rows[place] : static_cast<std::int32_t>(place); }
};

// What is nearest to a row; row -1: nothing. tied: another is as near.
struct NearestRow {
  double length, between;   // between decides where lengths are equal
  std::int32_t row, tied;
};

__device__ inline NearestRow nearer(const NearestRow& a, const NearestRow& b) {
  if (b.row < 0) return a;
  if (a.row < 0) return b;
  const bool is_equal = a.length == b.length && a.between == b.between;
  NearestRow best = a.length < b.length || (a.length == b.length && a.between <= b.between) ? a : b;
  if (is_equal) best.row = a.row < b.row ? a.row : b.row, best.tied = 1;
  return best;
}

// Of the kExactSide threads that share a row.
__device__ inline NearestRow nearest_of_lanes(NearestRow best) {
  for (int bits = kExactSide / 2; bits > 0; bits /= 2)
    best = nearer(best, {__shfl_xor_sync(kFullWarp, best.length, bits), __shfl_xor_sync(kFullWarp, best.between, bits),
                         __shfl_xor_sync(kFullWarp, best.row, bits), __shfl_xor_sync(kFullWarp, best.tied, bits)});
  return best;
}

// Columns [column, column + kExactDepth) of a tile's rows, 0 beyond the ends.
__device__ inline void read_exact(const ExactPoints& points, const RowList& list, std::int64_t column, double* tile) {
  for (int e = static_cast<int>(threadIdx.x); e < kExactTile * kExactDepth; e += kExactThreads) {
    const int r = e / kExactDepth, j = e % kExactDepth;
    const bool is_there = list.first + r < list.end && column + j < points.d;
    tile[r * kExactStride + j] = is_there ? points.values[list.at(list.first + r) * points.stride + column + j] : 0;
  }
}

// sums[a][b]: the reduced distance of rows y + 16 a and x + 16 b of two tiles. All threads of the block call it.
template <Metric M>
__device__ void exact_distances(const ExactPoints& points, const RowList& left, const RowList& right, double power,
                                double* left_tile, double* right_tile, double (&sums)[kExactMicro][kExactMicro]) {
  const int x = static_cast<int>(threadIdx.x) % kExactSide, y = static_cast<int>(threadIdx.x) / kExactSide;
  KEDGE_UNROLL
  for (int e = 0; e < kExactMicro * kExactMicro; ++e) sums[e / kExactMicro][e % kExactMicro] = 0;
  for (std::int64_t column = 0; column < points.d; column += kExactDepth) {
    __syncthreads();
    read_exact(points, left, column, left_tile);
    read_exact(points, right, column, right_tile);
    __syncthreads();
    const int width = static_cast<int>(points.d - column < kExactDepth ? points.d - column : kExactDepth);
    for (int c = 0; c < width; ++c) {
      double others[kExactMicro];
      KEDGE_UNROLL
      for (int b = 0; b < kExactMicro; ++b) others[b] = right_tile[(x + kExactSide * b) * kExactStride + c];
      KEDGE_UNROLL
      for (int a = 0; a < kExactMicro; ++a) {
        const double own = left_tile[(y + kExactSide * a) * kExactStride + c];
        KEDGE_UNROLL
        for (int b = 0; b < kExactMicro; ++b)
          sums[a][b] = join_terms<M>(sums[a][b], distance_term<M>(own - others[b], power));
      }
    }
  }
}

}   // namespace kedge::engine
