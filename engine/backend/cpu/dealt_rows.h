// Sums over rows that the ranks of a job divide: each makes the tables of its own tiles of rows, and their exact sums
// are added as integers, so that any number of ranks gives the bits of one process.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/cpu/rows.h"
#include "engine/comm/dealt_blocks.h"

namespace kedge::engine {

// The ranks that divide sums over n rows now; null: each makes the whole sum. The number of rows alone decides, so that
// all ranks do the same, and so do all sums over the rows of one table.
inline Ranks* ranks_of_rows(std::int64_t n) {
  return n >= kLeastDealtRows ? ranks_of_row_sums() : nullptr;
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

// The numbers that own() makes on each rank, one behind the other; numbers, or structs of numbers. Errors: those of
// own(), on every rank.
template <class T>
std::vector<T> parts_of_ranks(Ranks* ranks, const std::function<std::vector<T>()>& own) {
  if (!ranks) return own();
  const PartedBytes parts = ranks->share([&] {
    const std::vector<T> mine = own();
    const auto bytes = std::as_bytes(std::span(mine));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
  std::vector<T> all(parts.bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), parts.bytes.data(), parts.bytes.size());
  return all;
}

// Fills ranges of arrays that ranks divide: fill_own() fills this rank's range of each array, of which of_rank(r) says
// where it is, and every rank gets those of all. Arrays of numbers, whose ranges lie one behind the other. Errors:
// those of fill_own(), on every rank.
template <class OfRank, class... T>
void fill_on_ranks(Ranks& ranks, const std::function<void()>& fill_own, const OfRank& of_rank, T*... arrays) {
  const PartedBytes parts = ranks.share([&] {
    fill_own();
    const Part own = of_rank(ranks.rank());
    ByteWriter out;
    (out.append(arrays + own.begin, static_cast<std::size_t>(own.size()) * sizeof(T)), ...);
    return out.take();
  });
  for (int r = 0; r < ranks.size(); ++r) {
    const Part part = of_rank(r);
    const std::byte* from = parts.part(r).data();
    const auto take = [&](auto* array) {
      const std::size_t bytes = static_cast<std::size_t>(part.size()) * sizeof(*array);
      if (bytes > 0) std::memcpy(array + part.begin, from, bytes);
      from += bytes;
    };
    if (r != ranks.rank()) (take(arrays), ...);
  }
}

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
