// The rows that a tree draws, in whole numbers of fixed units: equal parts of a node then have equal sums in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/functors.h"
#include "engine/backend/host/host_grower.h"
#include "engine/backend/tree_functors.h"

namespace kedge::engine {

// The largest power of two by which a sum of this magnitude can be multiplied and still be exact in a double. At most 2^40.
double fixed_point_scale(double magnitude);

// The rows that a tree drew, in the order of the table.
struct TreeRows {
  std::vector<std::uint32_t> position, table_row;   // in what grow() was given, in the table
  std::vector<double> weight;                       // draws times weights; above 0
  double weight_scale = 1;                          // the fixed unit of the items' weights is 1 / weight_scale
  std::uint32_t size() const { return static_cast<std::uint32_t>(position.size()); }
  std::int64_t fixed_weight(std::uint32_t i) const { return std::llround(weight[i] * weight_scale); }
};

// drawn: how often each position was drawn. Rows that weigh nothing are left out. Errors: kBadData where all do.
TreeRows take_rows(const HostForestInput& in, const std::vector<std::uint32_t>& drawn);

// Of each row, weight * (value - mean of all) in the largest fixed unit in which they add up exactly; weight * value
// for Poisson, and for whole numbers where scikit-learn's trees are wanted: its sums of them are exact.
std::vector<std::int64_t> fixed_sums(std::span<const double> weight, std::span<const double> value,
                                     const ForestOptions& options);

// The sum of n numbers, which are overwritten: the upper ones are added to the lower ones, a power of two of them at a time.
inline double fold_halves(double* lane, std::uint32_t n) {
  for (std::uint32_t width = std::bit_ceil(n) / 2; width > 0; n = width, width /= 2)
    for (std::uint32_t l = width; l < n; ++l) lane[l - width] += lane[l];
  return lane[0];
}

// The sum of term(i), i < n, as a warp does it: lanes within tiles of kSumTile, which fold by halves, then the tiles in order.
template <class Term>
double sum_in_lanes(std::uint32_t n, const Term& term) {
  constexpr std::uint32_t kWidth = kLanes;
  double lane[kWidth], total = 0;
  for (std::uint32_t first = 0; first < n; first += kSumTile) {
    const std::uint32_t last = std::min<std::uint32_t>(n, first + kSumTile), width = std::min(kWidth, last - first);
    for (std::uint32_t l = 0; l < width; ++l) lane[l] = term(first + l);
    std::uint32_t i = first + width;
    for (; i + kWidth <= last; i += kWidth)
      for (std::uint32_t l = 0; l < kWidth; ++l) lane[l] += term(i + l);
    for (std::uint32_t l = 0; i + l < last; ++l) lane[l] += term(i + l);
    total += fold_halves(lane, width);
  }
  return total;
}

}  // namespace kedge::engine
