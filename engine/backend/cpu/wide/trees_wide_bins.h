// Larger nodes with AVX-512: class counts by bin, then the cuts between the bins.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/trees/trees_score.h"

namespace kedge::engine {

// Relative error of rough scores: two reciprocals with an error of 2^-14, and room for rounding.
inline constexpr double kScoreError = 1e-4;

// A row in one column: the code in the upper byte, its class and how often it was drawn in four bits each.
using WideRow = std::uint16_t;

// Class counts by bin, 16 lanes of 16 bits a bin, all zero between calls; the bins in use; and for cuts between them the sums of
// the outer side, away from the common bin, and of the inner one.
struct BinCounts {
  alignas(64) std::uint16_t lanes[257][16];   // the last is always zero
  alignas(64) std::uint8_t used[256];
  alignas(64) std::uint8_t bins[256 + 64];   // those in use, ascending
  alignas(64) std::uint32_t outer_squares[288], inner_squares[288], outer[288];
  alignas(64) float rough[288];
};

// Counts those n of a column's rows that are not at the common bin; kNoCommonBin if that is all of them.
void count_rows(const WideRow* rows, std::uint32_t n, std::int32_t common, BinCounts& counts);
// Takes the counted column's best cut if it beats `best` and clears the counts; returns whether there are two bins. Here and
// below totals.drawn < 65536 and each class < 32768.
bool score_bins(std::int32_t common, const NodeTotals& totals, BinCounts& counts, BestCut& best);
void clear(BinCounts& counts);

// Counts all rows in four columns at once; each is then scored.
void count_columns(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes, BinCounts* counts);
bool score_counted(const NodeTotals& totals, BinCounts& counts, BestCut& best);

}   // namespace kedge::engine
