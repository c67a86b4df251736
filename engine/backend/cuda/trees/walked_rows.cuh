// Rows as kernels that walk trees read them, and how many rows a launch is for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/ops/tree_walk.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {

inline constexpr int kWalkThreads = 128;
inline constexpr std::int64_t kMostLeaves = std::int64_t{1}
                                            << 22;   // found by one launch: they stay in the second-level cache
inline constexpr std::int64_t kMostCells = std::int64_t{1} << 23;   // that a launch may read: they stay there, too
inline constexpr std::int64_t kLeastRows = 4096;                    // of a launch, so that it is worth it
inline constexpr std::int64_t kFewRows = 16;                        // a multiprocessor: a block each
inline constexpr std::int64_t kManyRows = 128;                      // a multiprocessor: enough for a thread a row

template <class T, class Cell>
struct ValueRows {
  static constexpr bool kAreTogether = true;   // the cells of a row
  const T* X;
  std::int64_t stride;
  __device__ Cell cell(std::int64_t i, std::uint32_t column) const { return static_cast<Cell>(X[i * stride + column]); }
};

// Columns whose cells are keys of codes.
struct KeyColumns {
  const std::int32_t* offset;   // null: no column has
  const double *keys, *codes;

  // A cell of a column by its code; NaN where no key equals it.
  template <class Cell>
  __device__ Cell read(Cell value, std::int64_t column) const {
    if (!offset || offset[column] == offset[column + 1]) return value;
    std::int32_t low = offset[column], high = offset[column + 1];
    const std::int32_t end = high;
    const auto key = static_cast<double>(value);
    while (low < high) {
      const std::int32_t middle = (low + high) / 2;
      if (keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low < end && keys[low] == key ? static_cast<Cell>(codes[low]) : std::numeric_limits<Cell>::quiet_NaN();
  }
};

// CellKeys on the device.
class DeviceKeys {
 public:
  DeviceKeys(CudaRuntime& runtime, const CellKeys& keys)
      : offset_(runtime, std::span<const std::int32_t>(keys.offset)),
        keys_(runtime, std::span<const double>(keys.keys)),
        codes_(runtime, std::span<const double>(keys.codes)) {}
  KeyColumns view() const { return {offset_.size() == 0 ? nullptr : raw(offset_), raw(keys_), raw(codes_)}; }

 private:
  Array<std::int32_t> offset_;
  Array<double> keys_, codes_;
};

// Cells of the block's rows, column after column, so that the lanes of a warp read different banks whatever columns
// they ask for. Warps take 8 rows and 4 columns at a time where the cells of a row lie together.
template <class Rows, class Cell>
__device__ void load_cells(const Rows& rows, std::int64_t first, std::int64_t n, std::uint32_t n_cols, Cell* cells) {
  const int threads = static_cast<int>(blockDim.x), own = static_cast<int>(threadIdx.x);
  if constexpr (Rows::kAreTogether) {
    for (int i = own / 4; i < n && i < threads; i += threads / 4)
      for (std::uint32_t j = own % 4; j < n_cols; j += 4) cells[j * threads + i] = rows.cell(first + i, j);
  } else if (own < n) {
    for (std::uint32_t j = 0; j < n_cols; ++j) cells[j * threads + own] = rows.cell(first + own, j);
  }
}

// How many of n rows a launch takes that finds the leaves of all trees, for another one that adds them up.
inline std::int64_t rows_of_launch(std::int64_t n, std::int64_t n_trees, std::int64_t n_cols) {
  const std::int64_t by_leaves = kMostLeaves / std::max<std::int64_t>(1, n_trees),
                     by_cells = kMostCells / std::max<std::int64_t>(1, n_cols);
  return std::min(n, std::max(kLeastRows, std::min(by_leaves, by_cells)));
}

}   // namespace kedge::engine
