// Tiles of the product queries x points' in registers, for kernels that use the products at once and never store them.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/core/view.h"

namespace kedge::engine {

// 16 x 16 threads, each with kMicro x kMicro scores: a tile of kTile queries by kTile points, kDepth columns at a time.
template <class T>
struct TileShape {
  static constexpr int kMicro = sizeof(T) == 4 ? 8 : 4, kTile = 16 * kMicro, kDepth = 16, kThreads = 256;
  static constexpr int kPadded = kTile + 4;   // keeps the transposed stores out of one bank
  static constexpr std::size_t kTileBytes = std::size_t{2} * kDepth * kPadded * sizeof(T);
};

// Rows [first, first + kTile) of `rows`, columns [k, k + kDepth), transposed into shared memory; 0 beyond the ends.
template <class T>
__device__ void load_tile(MatrixView<const T> rows, std::int64_t first, std::int64_t end, std::int64_t k, T* tile) {
  using Shape = TileShape<T>;
  for (int e = static_cast<int>(threadIdx.x); e < Shape::kTile * Shape::kDepth; e += Shape::kThreads) {
    const int row = e / Shape::kDepth, col = e % Shape::kDepth;
    const bool inside = first + row < end && k + col < rows.cols;
    tile[col * Shape::kPadded + row] = inside ? rows.data[(first + row) * rows.stride + k + col] : T{0};
  }
}

// This thread's part of queries x points' for one pair of tiles. Thread (x, y) has queries y + 16 i and points x + 16 j.
template <class T>
__device__ void multiply_tiles(MatrixView<const T> queries, MatrixView<const T> points, std::int64_t query, std::int64_t point,
                               std::int64_t point_end, T* shared, T (&dots)[TileShape<T>::kMicro][TileShape<T>::kMicro]) {
  using Shape = TileShape<T>;
  constexpr int kMicro = Shape::kMicro;
  T *const left = shared, *const right = shared + Shape::kDepth * Shape::kPadded;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  for (int i = 0; i < kMicro; ++i) {
    for (int j = 0; j < kMicro; ++j) dots[i][j] = T{0};
  }
  for (std::int64_t k = 0; k < queries.cols; k += Shape::kDepth) {
    load_tile(queries, query, queries.rows, k, left);
    load_tile(points, point, point_end, k, right);
    __syncthreads();
    for (int col = 0; col < Shape::kDepth; ++col) {
      T a[kMicro], b[kMicro];
      for (int i = 0; i < kMicro; ++i) a[i] = left[col * Shape::kPadded + y + 16 * i];
      for (int j = 0; j < kMicro; ++j) b[j] = right[col * Shape::kPadded + x + 16 * j];
      for (int i = 0; i < kMicro; ++i) {
        for (int j = 0; j < kMicro; ++j) dots[i][j] = fma(a[i], b[j], dots[i][j]);
      }
    }
    __syncthreads();
  }
}

}  // namespace kedge::engine
