// Rows of a design by tiles: a block reads 16 bytes at a time, one tile ahead of what it computes, and lays the tile in
// shared memory, shifted, scaled and weighted, as the numbers V that it computes with: double or FloatPair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/backend/cuda/float_pair.cuh"
#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/functors.h"
#include "engine/backend/ops/design.h"
#include "engine/backend/raw.h"

namespace kedge::engine {

inline constexpr int kRowTileThreads = 256;
inline constexpr int kMostTileNumbers = 5120;   // 40 KiB of shared memory
static_assert(sizeof(FloatPair) == sizeof(double));
inline constexpr std::int64_t kTallColumns = 132;   // of a Gram matrix that is made in one pass

template <class T>
struct Rows {   // a Design as kernels take it
  const T* X;
  std::int64_t stride, cols, targets, y_stride;
  const std::int32_t* rows;
  const double *shift, *scale, *weights, *Y;

  __device__ const T* row(std::int64_t i) const { return X + (rows ? std::int64_t{rows[i]} : i) * stride; }
  __device__ double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
  __device__ double at(std::int64_t i, std::int64_t j) const {
    if (j >= cols) return weight(i) * Y[i * y_stride + j - cols];
    return weight(i) * affine(static_cast<double>(row(i)[j]), shift, scale, j);
  }
};

template <class V>
auto data_or_null(const V& view) {
  return view.empty() ? nullptr : raw(view);
}

template <class T>
Rows<T> rows_of(const Design<T>& d) {
  return {raw(d.X),
          d.X.stride,
          d.X.cols,
          d.Y.cols,
          d.Y.stride,
          data_or_null(d.rows),
          data_or_null(d.shift),
          data_or_null(d.scale),
          data_or_null(d.weights),
          raw(d.Y)};
}

// The rows of a design from `first` on.
template <class T>
Rows<T> rows_of(const Design<T>& d, std::int64_t first) {
  Rows<T> rows = rows_of(d);
  if (rows.rows) rows.rows += first;
  else rows.X += first * rows.stride;
  if (rows.weights) rows.weights += first;
  if (rows.Y) rows.Y += first * rows.y_stride;
  return rows;
}

// How a block reads a tile: a thread has one slot, four neighbouring columns of X or one target, of every round-th row.
struct TileCut {
  int slots;        // of a row
  int round;        // rows that the block reads at once
  int rows;         // of a tile
  int stride;       // numbers from row to row in shared memory
  bool in_pieces;   // four columns of X lie in pieces of 16 bytes
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride) * sizeof(double);
  }
};

// `step` rows are computed at once: a tile has a multiple of them, if that many are read.
template <class T>
TileCut cut_tile(const Design<T>& d, int loads, int step, int stride) {
  TileCut cut{
      .slots = static_cast<int>((d.X.cols + 3) / 4 + d.Y.cols), .stride = stride, .in_pieces = lies_in_pieces(d.X)};
  cut.round = kRowTileThreads / cut.slots;
  cut.rows = std::min(loads * cut.round, kMostTileNumbers / stride);
  if (cut.rows > step) cut.rows = cut.rows / step * step;
  return cut;
}

// The maps of four columns are numbers of a thread's own where they are doubles, and lie in shared memory, there after
// the first barrier, where they are pairs, which have five floats each.
template <class V>
inline constexpr bool kOwnMaps = std::is_same_v<V, double>;
template <class V>
inline constexpr int kSharedMaps = kOwnMaps<V> ? 1 : static_cast<int>(kTallColumns);

template <class T, class V, int kLoads>
class TileReader {
 public:
  __device__ TileReader(const Rows<T>& rows, const TileCut& cut, AffineMap<V>* maps)
      : rows_(rows), cut_(cut), maps_(maps) {
    const int slot = static_cast<int>(threadIdx.x) % cut.slots, pieces = static_cast<int>((rows.cols + 3) / 4);
    first_row_ = static_cast<int>(threadIdx.x) / cut.slots;
    is_target_ = slot >= pieces;
    column_ = is_target_ ? static_cast<int>(rows.cols) + slot - pieces : 4 * slot;
    width_ = is_target_ ? 1 : column_ + 4 <= rows.cols ? 4 : static_cast<int>(rows.cols) - column_;
    const auto map_of = [&](std::int64_t j) {
      return AffineMap<V>::of(rows.shift ? rows.shift[j] : 0.0, rows.scale ? rows.scale[j] : 1.0);
    };
    if constexpr (kOwnMaps<V>) {
      for (int e = 0; e < 4; ++e)
        own_maps_[e] = !is_target_ && e < width_ ? map_of(column_ + e) : AffineMap<V>::of(0, 1);
    } else {
      for (int j = static_cast<int>(threadIdx.x); j < rows.cols; j += kRowTileThreads) maps[j] = map_of(j);
    }
  }

  // Reads the thread's part of rows first .. first + rows of a tile - 1; those from `end` on are 0.
  __device__ void fetch(std::int64_t first, std::int64_t end) {
    for (int k = 0; k < kLoads; ++k) {
      const std::int64_t i = first + row_of(k);
      for (int e = 0; e < 4; ++e) x_[k][e] = T{0};
      is_row_[k] = has(k) && i < end;
      if (!is_row_[k]) continue;
      if (rows_.weights) weight_[k] = rows_.weights[i];
      if (is_target_) y_[k] = rows_.Y[i * rows_.y_stride + column_ - rows_.cols];
      else fetch_piece(rows_.row(i) + column_, x_[k]);
    }
  }

  __device__ void put(V* tile) const {
    KEDGE_UNROLL
    for (int k = 0; k < kLoads; ++k) {
      if (!has(k)) continue;
      V* const out = tile + row_of(k) * cut_.stride + column_;
      const bool counts = is_row_[k] && !(rows_.weights && weight_[k] == 0);
      const V weight = counts && rows_.weights ? number<V>(weight_[k]) : V{};
      const auto weighted = [&](V value) { return !counts ? V{} : rows_.weights ? product(weight, value) : value; };
      if (is_target_) {
        out[0] = weighted(number<V>(y_[k]));
        continue;
      }
      KEDGE_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e < width_) out[e] = weighted(mapped(e, x_[k][e]));
    }
  }

 private:
  __device__ int row_of(int k) const { return first_row_ + k * cut_.round; }
  __device__ V mapped(int e, T x) const {
    if constexpr (kOwnMaps<V>) return own_maps_[e](x);
    else return maps_[column_ + e](x);
  }
  __device__ bool has(int k) const { return first_row_ < cut_.round && row_of(k) < cut_.rows; }
  __device__ void fetch_piece(const T* from, T (&to)[4]) const {
    if (cut_.in_pieces && width_ == 4) {
      const FourValues<T> piece = four_at(from);
      for (int e = 0; e < 4; ++e) to[e] = piece.values[e];
      return;
    }
    for (int e = 0; e < 4; ++e)
      if (e < width_) to[e] = from[e];
  }

  Rows<T> rows_;
  TileCut cut_;
  const AffineMap<V>* maps_;
  AffineMap<V> own_maps_[kOwnMaps<V> ? 4 : 1];
  int first_row_, column_, width_;
  bool is_target_, is_row_[kLoads];
  double y_[kLoads], weight_[kLoads];   // of rows that are there; weights where rows have them
  T x_[kLoads][4];
};

// Rows of a block, a multiple of those of its tile; they depend on the shape alone, as do the sums.
inline std::int64_t rows_of_block(std::int64_t n, const TileCut& cut, std::int64_t most_blocks) {
  return std::max<std::int64_t>(tiles_of(tiles_of(n, cut.rows), most_blocks), 1) * cut.rows;
}

}   // namespace kedge::engine
