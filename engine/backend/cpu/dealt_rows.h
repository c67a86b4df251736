// Sums over rows that the ranks of a job divide: each makes the tables of its own tiles of rows, and their exact sums
// are added as integers, so that any number of ranks gives the bits of one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/backend/cpu/rows.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {

// Fewer rows are summed by every rank: to meet takes longer.
inline constexpr std::int64_t kLeastDealtRows = 1 << 14;

// The ranks that divide sums over n rows now; null: each makes the whole sum. The number of rows alone decides, so that
// all ranks do the same, and so do all sums over the rows of one table.
inline Ranks* ranks_of_rows(std::int64_t n) {
  return n >= kLeastDealtRows ? ranks_of_row_sums() : nullptr;
}

// Of consecutive things those that are this rank's: all where nothing is dealt.
struct Part {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};
inline Part own_part(const Ranks* ranks, std::int64_t n) {
  return ranks ? Part{n * ranks->rank() / ranks->size(), n * (ranks->rank() + 1) / ranks->size()} : Part{0, n};
}

// Rows are dealt in blocks of this many, a power of two, of which there are at most 64. Sums whose terms a rank has for
// its own rows alone all take these blocks.
inline std::int64_t block_rows(std::int64_t n) {
  constexpr std::int64_t kLeastBlock = 1024, kMostBlocks = 64;
  std::int64_t rows = kLeastBlock;
  while (rows * kMostBlocks < n) rows *= 2;
  return rows;
}
inline Part own_rows(const Ranks* ranks, std::int64_t n) {
  const Part blocks = own_part(ranks, tiles_of(n, block_rows(n)));
  return {std::min(n, blocks.begin * block_rows(n)), std::min(n, blocks.end * block_rows(n))};
}

// Tables of `entries` doubles, one behind the other. Borrowed.
struct Tables {
  const double* data;
  std::int64_t count;
};

// total[e] = the exact sum of entry e of all tables of all ranks, rounded once (exact_sum.h); own() makes those of this
// rank, and is called once. Without ranks these are all. At most kMostTerms tables. Errors: those of own(), on every
// rank.
void add_tables_of_ranks(Ranks* ranks, std::int64_t entries, const std::function<Tables()>& own, double* total);

// The numbers that own() makes on each rank, one behind the other. Errors: those of own(), on every rank.
std::vector<double> parts_of_ranks(Ranks* ranks, const std::function<std::vector<double>()>& own);

// tile_table_sums() of rows.h, with the tiles dealt over the ranks of the rows: tiles of kRowTile rows.
template <class Add>
std::vector<double> dealt_table_sums(std::int64_t n, std::int64_t entries, std::int64_t row_ns, Add&& add) {
  Ranks* const ranks = ranks_of_rows(n);
  const Part rows = own_rows(ranks, n);
  std::vector<double> tables, sums(static_cast<std::size_t>(entries), 0.0);
  const auto own = [&] {
    tables = tile_tables(rows.size(), entries, kRowTile, row_ns,
                         [&](std::int64_t i, double* table) { add(rows.begin + i, table); });
    return Tables{tables.data(), tiles_of(rows.size(), kRowTile)};
  };
  add_tables_of_ranks(ranks, entries, own, sums.data());
  return sums;
}

// Sum of value(i), i < n; row_ns is about what one value takes.
template <class Value>
double dealt_sum(std::int64_t n, std::int64_t row_ns, Value&& value) {
  return dealt_table_sums(n, 1, row_ns, [&](std::int64_t i, double* sum) { *sum += value(i); })[0];
}

}   // namespace kedge::engine
