// The formulas that the CPU and the CUDA bodies share, each written once. Where a sum's order is part of the formula it is
// fixed here too, so that both bodies give the same bits. (Fused multiply-adds are off in both.)
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/core/portability.h"
#include "engine/core/rng.h"

namespace kedge::engine {

// Sums over rows: tiles of this many rows, each summed row after row; the sums of tiles are added exactly, which has no
// order (exact_sum.h).
inline constexpr std::int64_t kRowTile = 256;

// Sums along a row: lane l takes the elements j = l (mod 32) in order, then the lanes fold by halves, as a warp does it.
inline constexpr int kLanes = 32;

inline std::int64_t tiles_of(std::int64_t n, std::int64_t tile) { return (n + tile - 1) / tile; }

// Rows per tile when each tile keeps a table of `entries` doubles: tiles are made longer rather than many where tables are large.
inline std::int64_t class_tile_rows(std::int64_t rows, std::int64_t entries) {
  constexpr std::int64_t kMostEntries = std::int64_t{1} << 22;   // 32 MiB over all tiles
  const std::int64_t most_tiles = kMostEntries / (entries > 0 ? entries : 1) + 1;
  const std::int64_t least = tiles_of(rows, most_tiles);
  return least > 4 * kRowTile ? least : 4 * kRowTile;
}

// (x - shift) * scale in double, rounded once. A null pointer stands for no shift or no scale.
template <class T>
KEDGE_HD T affine(T x, const double* shift, const double* scale, std::int64_t j) {
  return static_cast<T>((static_cast<double>(x) - (shift ? shift[j] : 0.0)) * (scale ? scale[j] : 1.0));
}

template <class T>
KEDGE_HD double squared_difference(T a, T b) {
  const double difference = static_cast<double>(a) - static_cast<double>(b);
  return difference * difference;
}

// Elements 2 i and 2 i + 1 of a stream of standard normal numbers (Box and Muller, 1958).
struct NormalPair {
  double first, second;
};
KEDGE_HD inline NormalPair normal_pair(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  const PhiloxBlock bits = philox(seed, stream, i);
  const std::uint64_t a = (static_cast<std::uint64_t>(bits.word[0]) << 32) | bits.word[1];
  const std::uint64_t b = (static_cast<std::uint64_t>(bits.word[2]) << 32) | bits.word[3];
  const double u = (static_cast<double>(a >> 11) + 1.0) * 0x1.0p-53;   // in (0, 1]: its logarithm is finite
  const double angle = 6.283185307179586476925 * (static_cast<double>(b >> 11) * 0x1.0p-53);
  const double radius = sqrt(-2.0 * log(u));
  return {radius * cos(angle), radius * sin(angle)};
}

template <class T>
KEDGE_HD std::int32_t argmax_row(const T* z, std::int64_t k) {
  std::int32_t best = 0;
  T most = z[0];
  for (std::int32_t c = 1; c < k; ++c) {   // without branches, which here would be guessed wrong
    const bool is_more = z[c] > most;
    most = is_more ? z[c] : most;
    best = is_more ? c : best;
  }
  return best;
}

template <class T>
KEDGE_HD void softmax_row(T* z, std::int64_t k) {
  const T top = z[argmax_row(z, k)];
  double sum = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    z[c] = static_cast<T>(exp(static_cast<double>(z[c] - top)));
    sum += static_cast<double>(z[c]);
  }
  for (std::int64_t c = 0; c < k; ++c) z[c] = static_cast<T>(static_cast<double>(z[c]) / sum);
}

// The weighted multinomial logistic loss of one row of margins; the margins become its derivative.
template <class T>
KEDGE_HD double logistic_row(T* z, std::int64_t k, const T* intercepts, std::int32_t y, double weight) {
  for (std::int64_t c = 0; intercepts && c < k; ++c) z[c] += intercepts[c];
  const double top = static_cast<double>(z[argmax_row(z, k)]), own = static_cast<double>(z[y]) - top;
  double sum = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    const double e = exp(static_cast<double>(z[c]) - top);
    sum += e;
    z[c] = static_cast<T>(e);
  }
  const double share = weight / sum;
  for (std::int64_t c = 0; c < k; ++c) z[c] = static_cast<T>(static_cast<double>(z[c]) * share - (c == y ? weight : 0.0));
  return weight * (log(sum) - own);
}

// The second derivatives of that loss, see LogisticOps::curvature. w: k (k + 1) / 2 numbers, or one for k = 2.
template <class T>
KEDGE_HD void curvature_row(const T* z, std::int64_t k, const T* intercepts, double weight, double* w) {
  const auto margin = [&](std::int64_t c) { return static_cast<double>(intercepts ? z[c] + intercepts[c] : z[c]); };
  if (k == 2) {
    const double difference = margin(1) - margin(0), e = exp(difference > 0 ? -difference : difference);
    w[0] = weight * e / ((1 + e) * (1 + e));
    return;
  }
  double top = margin(0), sum = 0;
  for (std::int64_t c = 1; c < k; ++c) top = margin(c) > top ? margin(c) : top;
  for (std::int64_t c = 0; c < k; ++c) {
    w[c] = exp(margin(c) - top);   // the first k places are those of (0, c): the shares wait there
    sum += w[c];
  }
  for (std::int64_t c = 0; c < k; ++c) w[c] /= sum;
  for (std::int64_t a = k - 1; a >= 0; --a) {
    double* const row = w + a * k - a * (a - 1) / 2 - a;   // row[b] is (a, b)
    const double share = w[a];
    for (std::int64_t b = k - 1; b > a; --b) row[b] = weight * share * w[b];
    row[a] = weight * share * (1 - share);
  }
}

// Shares of the votes of k neighbours. Distance 0 takes all when votes weigh by 1 / distance.
template <class T>
KEDGE_HD void vote_row(const std::int32_t* neighbours, const T* squared, std::int64_t k, const std::int32_t* y,
                       bool by_distance, T* proba, std::int64_t n_classes) {
  bool exact = false;
  for (std::int64_t i = 0; by_distance && i < k; ++i) exact = exact || squared[i] == T{0};
  for (std::int64_t c = 0; c < n_classes; ++c) proba[c] = T{0};
  double total = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    double vote = 1;
    if (by_distance) vote = exact ? (squared[i] == T{0} ? 1.0 : 0.0) : 1.0 / sqrt(static_cast<double>(squared[i]));
    total += vote;
  }
  for (std::int64_t i = 0; i < k; ++i) {
    double vote = 1;
    if (by_distance) vote = exact ? (squared[i] == T{0} ? 1.0 : 0.0) : 1.0 / sqrt(static_cast<double>(squared[i]));
    T& share = proba[y[neighbours[i]]];
    share = static_cast<T>(static_cast<double>(share) + vote / total);
  }
}

// The first i of the tile at `first` where `before` plus the shares up to i reaches the threshold, else the tile's last.
template <class Share>
KEDGE_HD std::int32_t search_tile(std::int64_t first, std::int64_t n, double before, double threshold, Share&& share) {
  const std::int64_t last = (first + kRowTile < n ? first + kRowTile : n) - 1;
  double sum = 0;
  for (std::int64_t i = first; i < last; ++i) {
    sum += share(i);
    if (before + sum >= threshold) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(last);
}

// One column's part of a Gaussian log density, without its constant. `precision` is 1 / variance.
template <class T>
KEDGE_HD double gaussian_term(T x, double mean, double precision) {
  const double difference = static_cast<double>(x) - mean;
  return difference * difference * precision;
}

// Nearest neighbours are shortlisted by a score computed in T, |p|^2 - 2 q.p on rows that were centred in T, and then ranked by
// their distance in double. This bounds |score + |q|^2 - that distance|, from the norms of the centred rows of d elements:
// gamma for the dot product summed in any order (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), eight
// units for centring, storing the norm, subtracting and comparing, then the ranking's own rounding, then underflow.
template <class T>
KEDGE_HD T score_error(T query_norm, T largest_norm, std::int64_t d) {
  const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2, size = static_cast<double>(d) + 8;
  const double gamma = size * unit < 0.5 ? size * unit / (1 - size * unit) : 1e300;
  const double span = static_cast<double>(query_norm) + static_cast<double>(largest_norm);
  const double ranking = (static_cast<double>(d) / 16 + 16) * 0x1.0p-53;
  return static_cast<T>(1.001 * ((gamma + 8 * unit + ranking) * span * span + size * static_cast<double>(std::numeric_limits<T>::min())));
}

}  // namespace kedge::engine
