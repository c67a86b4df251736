// The blocks of rows in which many rows are predicted, so that ranks can divide them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/ranks.h"

namespace kedge::engine {

// Fewer rows are predicted by one rank, and at once: to meet takes longer.
inline constexpr std::int64_t kLeastDealtPredictions = 1 << 14;

// So many rows at a time, a power of two, in at most 64 blocks. Their number alone decides, and one process takes the
// same blocks: a product of matrices may have other bits where it has other rows.
inline std::int64_t prediction_block(std::int64_t n_rows) {
  constexpr std::int64_t kLeastBlock = 1024, kMostBlocks = 64;
  std::int64_t rows = kLeastBlock;
  while (rows * kMostBlocks < n_rows) rows *= 2;
  return rows;
}

// Of n_blocks in a row those of this rank: begin .. end - 1.
struct OwnBlocks {
  std::int64_t begin, end;
};
inline OwnBlocks own_blocks(const Ranks& ranks, std::int64_t n_blocks) {
  const std::vector<std::int64_t> bounds =
      consecutive_shares(std::vector<double>(static_cast<std::size_t>(n_blocks), 1.0), ranks.size());
  const auto rank = static_cast<std::size_t>(ranks.rank());
  return {bounds[rank], bounds[rank + 1]};
}

}   // namespace kedge::engine
