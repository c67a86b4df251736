// How the rows of a table are dealt over ranks: in blocks that their number alone decides.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/comm/ranks.h"

namespace kedge::engine {

// Fewer rows are every rank's own work: to meet takes longer.
inline constexpr std::int64_t kLeastDealtRows = 1 << 14;

// Of consecutive things those that are this rank's: all where nothing is dealt.
struct Part {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};
inline Part part_of_rank(int rank, int size, std::int64_t n) {
  return {n * rank / size, n * (rank + 1) / size};
}
inline Part own_part(const Ranks* ranks, std::int64_t n) {
  return ranks ? part_of_rank(ranks->rank(), ranks->size(), n) : Part{0, n};
}

// Rows are dealt in blocks of this many, a power of two, of which there are at most 64. Sums whose terms a rank has for
// its own rows alone all take these blocks, and so do predictions.
inline std::int64_t block_rows(std::int64_t n) {
  constexpr std::int64_t kLeastBlock = 1024, kMostBlocks = 64;
  std::int64_t rows = kLeastBlock;
  while (rows * kMostBlocks < n) rows *= 2;
  return rows;
}
inline Part rows_of_rank(int rank, int size, std::int64_t n) {
  const std::int64_t rows = block_rows(n);
  const Part blocks = part_of_rank(rank, size, (n + rows - 1) / rows);
  return {std::min(n, blocks.begin * rows), std::min(n, blocks.end * rows)};
}
inline Part own_rows(const Ranks* ranks, std::int64_t n) {
  return ranks ? rows_of_rank(ranks->rank(), ranks->size(), n) : Part{0, n};
}

}   // namespace kedge::engine
