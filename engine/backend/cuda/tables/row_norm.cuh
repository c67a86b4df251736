// Dividing a row by its norm, one warp a row, or one thread where a row is short: its sum is folded as everywhere, its
// maximum any way.
#pragma once

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/float_pair.cuh"
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

// Within 2^-44 of itself, of values whose squares have no rest below 2^-149 that counts.
__device__ inline FloatPair norm_in_pairs(RowNorm norm, const float (&x)[kShortNorm]) {
  FloatPair sum{};
  for (int j = 0; j < kShortNorm; ++j) {
    const float size = fabsf(x[j]);
    if (norm == RowNorm::kL2) add_product(sum, {size, 0}, {size, 0});
    else if (norm == RowNorm::kL1) sum = plus(sum, {size, 0});
    else sum.high = size > sum.high ? size : sum.high;
  }
  settle(sum);
  if (norm != RowNorm::kL2) return sum;
  const float root = sqrtf(sum.high);
  return {root, (fmaf(-root, root, sum.high) + sum.low) / (2 * root)};
}

// The same bits as divide_short() gives, in float alone. The quotients are known within 2^-43 of themselves, so
// they say to which floats those in double are rounded, but for one in some ten thousand, which lies next to the middle
// of two floats. Then, and where floats have no such range, the answer is false, and x as it was.
__device__ inline bool divide_in_pairs(RowNorm norm, float (&x)[kShortNorm]) {
  constexpr float kWider = 1 + 0x1p-14F, kLeastNorm = 0x1p-19F, kMostNorm = 0x1p60F, kLeast = 0x1p-100F;
  const FloatPair size = norm_in_pairs(norm, x);
  if (!(size.high > kLeastNorm && size.high < kMostNorm)) return false;
  const float inverse = 1 / size.high;
  float quotients[kShortNorm];
  bool are_sure = true;
  for (int j = 0; j < kShortNorm; ++j) {
    const float first = x[j] * inverse, rest = (fmaf(-first, size.high, x[j]) - first * size.low) * inverse,
                quotient = first + rest, low = (first - quotient) + rest;
    const bool is_sure = fmaf(low, kWider, quotient) == quotient && fabsf(quotient) >= kLeast;
    are_sure = are_sure && (is_sure || x[j] == 0);
    quotients[j] = x[j] == 0 ? x[j] : quotient;
  }
  for (int j = 0; are_sure && j < kShortNorm; ++j) x[j] = quotients[j];
  return are_sure;
}

// divide_short() of floats in pairs of floats; false where it left the row as it was.
__device__ inline bool divide_short_in_pairs(RowNorm norm, bool in_pieces, float* row, int n) {
  float values[kShortNorm];
  for (int p = 0; p < kShortNorm; p += 4) {
    FourValues<float> piece{};
    if (in_pieces && p + 4 <= n) piece = four_at(row + p);
    else
      for (int e = 0; e < 4; ++e) piece.values[e] = p + e < n ? row[p + e] : 0;
    for (int e = 0; e < 4; ++e) values[p + e] = piece.values[e];
  }
  if (!divide_in_pairs(norm, values)) return false;
  for (int p = 0; p < kShortNorm; p += 4) {
    if (in_pieces && p + 4 <= n) put_four(row + p, {values[p], values[p + 1], values[p + 2], values[p + 3]});
    else
      for (int e = p; e < p + 4 && e < n; ++e) row[e] = values[e];
  }
  return true;
}

}  // namespace kedge::engine
