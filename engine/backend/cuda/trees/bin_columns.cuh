// What binning for forests and for boosting share: columns whose values lie together, and a search in sorted ones.
#pragma once

#include <algorithm>
#include <limits>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {

inline constexpr int kColumnTile = 32, kColumnTileRows = 8;

// Rows of a matrix on the device: row i is X's rows[picks[i]]; null: i itself.
template <class T>
struct RowChoice {
  MatrixView<const T> X;
  std::int64_t n = 0;
  const std::int32_t *rows = nullptr, *picks = nullptr;
  T fill = std::numeric_limits<T>::quiet_NaN();   // in place of missing values
  KEDGE_HD std::int64_t row(std::int64_t i) const {
    if (picks) i = picks[i];
    return rows ? rows[i] : i;
  }
};

// columns[j * n + i] = X(row i, first + j), with 0 for -0; counts the missing values of each column. A tile of 32 x 32
// for a block, so that both sides are coalesced.
template <class T>
__global__ void take_column_tiles(RowChoice<T> from, std::int64_t first, std::int64_t width, T* columns,
                                  std::int32_t* missing) {
  __shared__ T tile[kColumnTile][kColumnTile + 1];
  const int across = static_cast<int>(threadIdx.x), down = static_cast<int>(threadIdx.y);
  const std::int64_t row = std::int64_t{blockIdx.x} * kColumnTile, col = std::int64_t{blockIdx.y} * kColumnTile;
  for (int r = down; r < kColumnTile; r += kColumnTileRows) {
    if (row + r >= from.n || col + across >= width) continue;
    T value = raw(from.X)[from.row(row + r) * from.X.stride + first + col + across];
    if (value != value) {
      atomicAdd(&missing[col + across], 1);
      value = from.fill;
    }
    tile[r][across] = value == 0 ? T{0} : value;
  }
  __syncthreads();
  for (int c = down; c < kColumnTile; c += kColumnTileRows)
    if (row + across < from.n && col + c < width) columns[(col + c) * from.n + row + across] = tile[across][c];
}

template <class T>
void take_columns(CudaRuntime& runtime, const RowChoice<T>& from, std::int64_t first, std::int64_t width,
                  Array<T>& columns, DevicePointer<std::int32_t> missing) {
  KEDGE_LAUNCH(runtime, take_column_tiles<T>, dim3(blocks_for(from.n, kColumnTile), blocks_for(width, kColumnTile)),
               dim3(kColumnTile, kColumnTileRows), 0, from, first, width, columns.data(), missing);
}

// So many columns of n values as are taken at a time: 128 MiB of them, which sorting holds four times; of a GPU of less
// than 4 GiB a part of 32.
inline std::int64_t columns_together(const CudaRuntime& runtime, std::int64_t n, std::int64_t n_cols,
                                     std::size_t value_bytes) {
  constexpr std::int64_t kBytes = std::int64_t{128} << 20, kParts = 32;
  const std::int64_t memory = runtime.info().memory_bytes,
                     bytes = memory > 0 ? std::min(kBytes, memory / kParts) : kBytes;
  return std::clamp<std::int64_t>(bytes / (n * static_cast<std::int64_t>(value_bytes)), 1,
                                  std::min<std::int64_t>(n_cols, 32768));
}

// The first place at or after `begin` whose value is above `value`, of n ascending ones; asked by a whole warp.
template <class T>
__device__ std::int64_t first_above(const T* values, std::int64_t begin, std::int64_t n, T value) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::int64_t low = begin, high = n;
  if (low < high && values[low] > value) return low;
  while (low < high) {
    const std::int64_t step = (high - low + 31) / 32, at = low + lane * step;
    const unsigned above = __ballot_sync(kFullWarp, at >= high || values[at] > value);
    if (above & 1u) return low;
    const int last = above == 0 ? 31 : __ffs(static_cast<int>(above)) - 2;   // the last lane that is not above
    if (above != 0) high = min(high, low + (last + 1) * step);
    low += last * step + 1;
  }
  return low;
}

}   // namespace kedge::engine
