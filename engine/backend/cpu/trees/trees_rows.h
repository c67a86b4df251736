// The rows of a tree and how the code of a row in a column is read, in each of the three forms that a table has.
#pragma once

#include <cstdint>

#include "engine/backend/ops/trees.h"
#include "engine/backend/raw.h"

namespace kedge::engine {

// A row of a tree: which, where its record begins, its class, and how often it was drawn.
struct TreeRow {
  std::uint32_t row, record;
  std::uint16_t cls, weight;
};

// A row's record: a bit for each column where the row is off the common bin; how many bits are set before each group of 256 columns
// (16 bits each), and in the group before each block of 16 (8 bits each); then the codes of the columns with a bit, in order. Offsets
// in bytes.
struct RecordLayout {
  static constexpr std::int64_t kGroup = 256, kBlock = 16;
  std::int64_t words, starts, ranks, codes;

  explicit RecordLayout(std::int64_t n_cols)
      : words((n_cols + 63) / 64),
        starts(words * 8),
        ranks(starts + (n_cols + 4 * kGroup - 1) / (4 * kGroup) * 8),
        codes(ranks + words * 4) {}
};

// The codes of one column, from bytes (by row number, with a stride) or from records.
struct ColumnCodes {
  const std::uint8_t* bytes = nullptr;
  std::int64_t stride = 1;
  const std::uint64_t* word = nullptr;   // of record 0, with the column's bit
  std::int64_t to_start = 0, to_rank = 0, to_codes = 0;   // bytes from there to what counts the bits before, and to the codes
  unsigned bit = 0;
  std::uint64_t before = 0;              // the bits of the columns before it in its block
  std::int32_t common = kNoCommonBin;

  static ColumnCodes by_column(const BinnedTable& table, std::int64_t f) {
    return {.bytes = raw(table.codes) + f * table.n_rows, .common = table.common[f]};
  }
  static ColumnCodes by_row(const BinnedTable& table, std::int64_t f) {
    return {.bytes = raw(table.row_codes) + f, .stride = table.row_stride, .common = table.common[f]};
  }
  static ColumnCodes by_record(const BinnedTable& table, std::int64_t f) {
    const RecordLayout layout(table.n_cols);
    const std::int64_t at = f / 64 * 8;
    const auto bit = static_cast<unsigned>(f % 64), block = bit / 16 * 16;
    return {.word = raw(table.records) + f / 64,
            .to_start = layout.starts - at + f / RecordLayout::kGroup * 2,
            .to_rank = layout.ranks - at + f / RecordLayout::kBlock,
            .to_codes = layout.codes - at,
            .bit = bit,
            .before = ((std::uint64_t{1} << bit) - 1) >> block << block,
            .common = table.common[f]};
  }

  [[gnu::always_inline]] std::uint8_t from_bytes(const TreeRow& row) const { return bytes[row.row * stride]; }
  [[gnu::always_inline]] bool is_common(const TreeRow& row) const { return ((word[row.record] >> bit) & 1) == 0; }
  // Only where the row is not at the common bin; elsewhere any byte.
  [[gnu::always_inline]] std::uint8_t from_record(const TreeRow& row) const {
    const std::uint64_t* at = word + row.record;
    const auto* byte = reinterpret_cast<const std::uint8_t*>(at);
    std::uint16_t start;
    __builtin_memcpy(&start, byte + to_start, sizeof start);
    return byte[to_codes + start + byte[to_rank] + __builtin_popcountll(*at & before)];
  }
  [[gnu::always_inline]] int code(const TreeRow& row) const {
    if (bytes) return from_bytes(row);
    const int uncommon = from_record(row);
    return is_common(row) ? common : uncommon;
  }
};

// Orders rows by code <= left_bin, those left first, both sides in their former order; `right` has room for all but is scratch. Adds
// the left rows' draws to left_counts and returns how many they are. Inline, so that it is compiled for its caller's instruction set.
[[gnu::always_inline]] inline std::uint32_t part_rows_inline(const ColumnCodes& column, int left_bin, TreeRow* rows,
                                                             std::uint32_t n, TreeRow* right, std::int32_t* left_counts) {
  const ColumnCodes codes = column;
  std::uint32_t n_left = 0, n_right = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const TreeRow row = rows[i];
    const bool goes_left = codes.code(row) <= left_bin;
    rows[n_left] = row, right[n_right] = row;
    n_left += goes_left, n_right += !goes_left;
    left_counts[row.cls] += goes_left ? row.weight : 0;
  }
  __builtin_memcpy(static_cast<void*>(rows + n_left), right, n_right * sizeof(TreeRow));
  return n_left;
}

}  // namespace kedge::engine
