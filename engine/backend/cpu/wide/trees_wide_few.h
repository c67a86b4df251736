// Small nodes with AVX-512: all columns at once, one to a lane, their rows sorted by code.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/wide/trees_wide_bins.h"

namespace kedge::engine {

// The rows of a small node in 32 columns, and what scoring them needs; lanes without a column hold anything.
struct FewRows {
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::int64_t kMostDrawn = 255;   // sums of squares have 16 bits
  alignas(64) WideRow row[kMost][32];               // filled by the caller
  alignas(64) WideRow sorted[kMost][32];
  // The cuts between two codes: the column's lane and the draws on the left, in 8 bits each, and the sums of squares of both
  // sides.
  static constexpr std::uint32_t kMostCuts = 32 * kMost + 32;
  alignas(64) std::uint16_t cut[kMostCuts], left_squares[kMostCuts], right_squares[kMostCuts];
  alignas(64) float rough[kMostCuts];
};

// As score_by_bins() of n_features columns one after the other, n >= 2 rows. Sets best.feature to a column's number.
bool score_few(FewRows& few, std::uint32_t n, const std::uint32_t* features, int n_features, bool stop_at_varying,
               const NodeTotals& totals, BestCut& best);

}   // namespace kedge::engine
