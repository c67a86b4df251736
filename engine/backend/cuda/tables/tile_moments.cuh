// Sums for means and variances of columns: one thread takes one column of one tile of rows. Pass 1 adds deviations from
// the first row, pass 2 deviations from the mean, and their squares.
#pragma once

#include "engine/backend/cuda/float_pair.cuh"
#include "engine/backend/cuda/neighbours/selection.cuh"
#include "engine/backend/cuda/tables/tile_block.cuh"

namespace kedge::engine {

inline constexpr std::int64_t kSettledRows = 16;   // between two calls of settle()

struct TileSums {
  double sum, squares;
};

// Column j of rows begin .. end - 1 in pairs of floats; false where the sums leave float's range.
__device__ inline bool add_in_pairs(const Selection<float>& X, float origin, std::int64_t j, std::int64_t begin,
                                    std::int64_t end, double& found) {
  constexpr double kMost = 0x1p127;
  FloatPair sum{};
  for (std::int64_t i = begin; i < end; ++i) {
    add(sum, exact_sum(X.row(i)[j], -origin));
    if (i % kSettledRows == 0) settle(sum);
  }
  found = value_of(sum);
  return fabs(found) < kMost;
}
__device__ inline bool add_in_pairs(const Selection<float>& X, std::int64_t j, std::int64_t begin, std::int64_t end,
                                    double mean, TileSums& found) {
  constexpr double kLeast = 0x1p-90, kMost = 0x1p100;   // squares of less would lose what lies below 2^-149
  const auto deviation_of = AffineMap<FloatPair>::of(mean, 1);
  FloatPair sum{}, squares{};
  for (std::int64_t i = begin; i < end; ++i) {
    const FloatPair deviation = deviation_of(X.row(i)[j]);
    add(sum, deviation), add_product(squares, deviation, deviation);
    if (i % kSettledRows == 0) settle(sum), settle(squares);
  }
  found = {value_of(sum), value_of(squares)};
  return found.squares > kLeast && found.squares < kMost;
}

__device__ inline std::int64_t end_of_tile(std::int64_t tile, std::int64_t n) {
  const std::int64_t end = (tile + 1) * kRowTile;
  return end < n ? end : n;
}

// X: some rows of `table`, from the first of which deviations are taken.
template <class T, bool kInPairs>
__global__ void tile_deviations(Selection<T> X, Selection<T> table, const double* weights, double* sums) {
  const std::int64_t j = tile_column(), tile = own_tile();
  if (j >= X.cols || tile * kRowTile >= X.n) return;
  if constexpr (kInPairs) {
    if (add_in_pairs(X, table.row(0)[j], j, tile * kRowTile, end_of_tile(tile, X.n), sums[tile * X.cols + j])) return;
  }
  const double origin = static_cast<double>(table.row(0)[j]);
  double sum = 0;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i)
    sum += (weights ? weights[i] : 1.0) * (static_cast<double>(X.row(i)[j]) - origin);
  sums[tile * X.cols + j] = sum;
}

template <class T, bool kInPairs>
__global__ void tile_squares(Selection<T> X, const double* weights, const double* mean, double* sums) {
  const std::int64_t j = tile_column(), tile = own_tile();
  if (j >= X.cols || tile * kRowTile >= X.n) return;
  double* const out = sums + tile * 2 * X.cols + j;
  if constexpr (kInPairs) {
    TileSums found;
    if (add_in_pairs(X, j, tile * kRowTile, end_of_tile(tile, X.n), mean[j], found)) {
      out[0] = found.sum, out[X.cols] = found.squares;
      return;
    }
  }
  double sum = 0, squares = 0;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const double deviation = static_cast<double>(X.row(i)[j]) - mean[j],
                 weighted = (weights ? weights[i] : 1.0) * deviation;
    sum += weighted;
    squares += weighted * deviation;
  }
  out[0] = sum, out[X.cols] = squares;
}

}   // namespace kedge::engine
