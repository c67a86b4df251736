// Dividing a row by its norm, one warp a row, or one thread where a row is short: its sum is folded as everywhere, its
// maximum any way.
#pragma once

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"

namespace kedge::engine {

// By all lanes of a warp, on n values side by side; a row whose norm is tiny stays as it is.
template <class T>
__device__ void divide_values(RowNorm norm, T* row, std::int64_t n) {
  double size = 0;
  for (std::int64_t j = threadIdx.x; j < n; j += kLanes) {
    const double x = fabs(static_cast<double>(row[j]));
    if (norm == RowNorm::kMax)
      size = x > size ? x : size;
    else
      size += norm == RowNorm::kL2 ? x * x : x;
  }
  if (norm == RowNorm::kMax) {
    for (int width = kLanes / 2; width > 0; width /= 2) {
      const double other = __shfl_down_sync(kFullWarp, size, width);
      size = other > size ? other : size;
    }
  } else {
    size = fold_lanes(size);
  }
  size = __shfl_sync(kFullWarp, size, 0);
  if (norm == RowNorm::kL2) size = sqrt(size);
  if (is_tiny_norm<T>(size)) return;
  for (std::int64_t j = threadIdx.x; j < n; j += kLanes) row[j] = static_cast<T>(static_cast<double>(row[j]) / size);
}

inline constexpr int kShortNorm = 16;   // columns of a row that one thread divides

// By one thread, on n <= kShortNorm values: what divide_values() gives, whose other lanes add 0.
template <class T>
__device__ void divide_short(RowNorm norm, bool in_pieces, T* row, int n) {
  FourValues<T> values[kShortNorm / 4];
  double terms[kShortNorm];
  for (int p = 0; p < kShortNorm / 4; ++p) {
    const bool is_whole = in_pieces && 4 * p + 4 <= n;
    if (is_whole) values[p] = four_at(row + 4 * p);
    for (int e = 0; e < 4; ++e) {
      if (!is_whole) values[p].values[e] = 4 * p + e < n ? row[4 * p + e] : T{0};
      const double x = fabs(static_cast<double>(values[p].values[e]));
      terms[4 * p + e] = norm == RowNorm::kL2 ? x * x : x;
    }
  }
  for (int half = kShortNorm / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) {
      const double other = terms[j + half];
      if (norm == RowNorm::kMax) terms[j] = other > terms[j] ? other : terms[j];
      else terms[j] += other;
    }
  }
  const double size = norm == RowNorm::kL2 ? sqrt(terms[0]) : terms[0];
  if (is_tiny_norm<T>(size)) return;
  for (int p = 0; p < kShortNorm / 4; ++p) {
    for (int e = 0; e < 4; ++e) values[p].values[e] = static_cast<T>(static_cast<double>(values[p].values[e]) / size);
    if (in_pieces && 4 * p + 4 <= n) put_four(row + 4 * p, values[p]);
    for (int e = 0; e < 4; ++e)
      if (!(in_pieces && 4 * p + 4 <= n) && 4 * p + e < n) row[4 * p + e] = values[p].values[e];
  }
}

}  // namespace kedge::engine
