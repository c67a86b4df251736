// Tiles of the product queries x points' in registers, for kernels that use the products at once and never store them.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

// 16 x 16 threads, each with kMicro x kMicro scores: a tile of kTile queries by kTile points, kDepth columns at a time.
template <class T>
struct TileShape {
  static constexpr int kMicro = sizeof(T) == 4 ? 8 : 4, kTile = 16 * kMicro, kDepth = 16, kThreads = 256;
  static constexpr int kPadded = kTile + 4;   // keeps the transposed stores out of one bank; whole pieces
  static constexpr std::size_t kTileBytes = std::size_t{2} * kDepth * kPadded * sizeof(T);
};

// The place within a tile of a thread's i-th query or point: four lie side by side, so that they are one access.
__device__ inline int tile_place(int lane, int i) {
  return i / 4 * 64 + 4 * lane + i % 4;
}

// A thread's part of rows [first, first + kTile), columns [k, k + kDepth), on its way from memory, in pieces of four
// columns, to shared memory, transposed; 0 beyond the ends.
template <class T>
class TilePart {
 public:
  using Shape = TileShape<T>;

  __device__ void fetch(MatrixView<const T> rows, std::int64_t first, std::int64_t end, std::int64_t k) {
    const bool in_pieces = lies_in_pieces(rows);
    KEDGE_UNROLL
    for (int p = 0; p < kPieces; ++p) {
      const std::int64_t row = first + row_of(p), col = k + column_of(p);
      const T* const from = raw(rows) + row * rows.stride + col;
      for (int e = 0; e < 4; ++e) pieces_[p].values[e] = T{0};
      if (row >= end) continue;
      if (in_pieces && col + 4 <= rows.cols) pieces_[p] = four_at(from);
      else
        for (int e = 0; e < 4; ++e)
          if (col + e < rows.cols) pieces_[p].values[e] = from[e];
    }
  }
  __device__ void put(T* tile) const {
    KEDGE_UNROLL
    for (int p = 0; p < kPieces; ++p)
      for (int e = 0; e < 4; ++e) tile[(column_of(p) + e) * Shape::kPadded + row_of(p)] = pieces_[p].values[e];
  }

 private:
  static constexpr int kAcross = Shape::kDepth / 4, kPieces = Shape::kTile * kAcross / Shape::kThreads;
  __device__ static int row_of(int p) { return (static_cast<int>(threadIdx.x) + p * Shape::kThreads) / kAcross; }
  __device__ static int column_of(int) { return static_cast<int>(threadIdx.x) % kAcross * 4; }
  FourValues<T> pieces_[kPieces];
};

// This thread's part of queries x points' for one pair of tiles: thread (x, y) has queries tile_place(y, i) and points
// tile_place(x, j). The next columns are read while these are multiplied, if kAhead, which takes registers.
template <class T, bool kAhead = true>
__device__ void multiply_tiles(MatrixView<const T> queries, MatrixView<const T> points, std::int64_t query,
                               std::int64_t point, std::int64_t point_end, T* shared,
                               T (&dots)[TileShape<T>::kMicro][TileShape<T>::kMicro]) {
  using Shape = TileShape<T>;
  constexpr int kMicro = Shape::kMicro;
  T *const left = shared, *const right = shared + Shape::kDepth * Shape::kPadded;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  KEDGE_UNROLL
  for (int e = 0; e < kMicro * kMicro; ++e) dots[e / kMicro][e % kMicro] = T{0};
  TilePart<T> left_part, right_part;
  const auto fetch = [&](std::int64_t k) {
    left_part.fetch(queries, query, queries.rows, k);
    right_part.fetch(points, point, point_end, k);
  };
  if (kAhead) fetch(0);
  for (std::int64_t k = 0; k < queries.cols; k += Shape::kDepth) {
    if (!kAhead) fetch(k);
    left_part.put(left);
    right_part.put(right);
    __syncthreads();
    if (kAhead && k + Shape::kDepth < queries.cols) fetch(k + Shape::kDepth);
    for (int col = 0; col < Shape::kDepth; ++col) {
      FourValues<T> a[kMicro / 4], b[kMicro / 4];
      KEDGE_UNROLL
      for (int g = 0; g < kMicro / 4; ++g) {
        a[g] = four_at(left + col * Shape::kPadded + tile_place(y, 4 * g));
        b[g] = four_at(right + col * Shape::kPadded + tile_place(x, 4 * g));
      }
      KEDGE_UNROLL
      for (int e = 0; e < kMicro * kMicro; ++e) {
        const int i = e / kMicro, j = e % kMicro;
        dots[i][j] = fma(a[i / 4].values[i % 4], b[j / 4].values[j % 4], dots[i][j]);
      }
    }
    __syncthreads();
  }
}

}  // namespace kedge::engine
