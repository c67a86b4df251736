// Turning columns of codes into rows, and rows into records.
#include "engine/backend/cpu/trees/trees_row_forms.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/backend/cpu/trees/trees_rows.h"
#include "engine/backend/cpu/wide/trees_wide.h"
#include "engine/backend/cpu/wide/trees_wide_record.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr double kListedShare = 0.5;             // rows off the common bin, up to which listing them pays
constexpr std::int64_t kRecordSlack = 8;         // words that copies of a cache line may read beyond the last
constexpr std::int64_t kRecordColumns = 0xffff;  // starts within a record have 16 bits
constexpr std::int64_t kTile = 64;               // rows, and columns, that are turned together

// The most common bin of each column; returns the share of all cells that are in other bins.
double find_common_bins(BinnedTable& table, int n_threads) {
  table.common.assign(static_cast<std::size_t>(table.n_cols), 0);
  std::vector<std::int64_t> most(table.common.size());
  parallel_tasks(n_threads, table.n_cols, [&](std::int64_t col, int) {
    std::array<std::array<std::uint32_t, 256>, 4>
        count{};  // four, so that equal neighbours do not wait for each other
    const std::uint8_t* codes = raw(table.codes) + col * table.n_rows;
    for (std::int64_t i = 0; i < table.n_rows; ++i) ++count[i & 3][codes[i]];
    for (int b = 0; b < 256; ++b) count[0][b] += count[1][b] + count[2][b] + count[3][b];
    const auto top = std::max_element(count[0].begin(), count[0].end());
    table.common[col] = static_cast<std::int32_t>(top - count[0].begin());
    most[col] = *top;
  });
  const auto common = std::accumulate(most.begin(), most.end(), std::int64_t{0});
  return 1.0 - static_cast<double>(common) /
                   (static_cast<double>(table.n_rows) * static_cast<double>(table.n_cols));
}

// Transposes 8 x 8 bytes: swaps smaller and smaller squares (Warren, Hacker's Delight 7-3).
void transpose_eight(const std::uint8_t* columns, std::int64_t stride, std::uint8_t* rows,
                std::int64_t row_stride) {
  std::uint64_t x[8];
  for (int i = 0; i < 8; ++i) __builtin_memcpy(x + i, columns + i * stride, 8);
  const auto swap = [&x](int i, int step, std::uint64_t mask) {
    const std::uint64_t t = ((x[i] >> (step * 8)) ^ x[i + step]) & mask;
    x[i + step] ^= t, x[i] ^= t << (step * 8);
  };
  for (int i = 0; i < 4; ++i) swap(i, 4, 0x00000000ffffffff);
  for (int i = 0; i < 8; i += 4) swap(i, 2, 0x0000ffff0000ffff), swap(i + 1, 2, 0x0000ffff0000ffff);
  for (int i = 0; i < 8; i += 2) swap(i, 1, 0x00ff00ff00ff00ff);
  for (int i = 0; i < 8; ++i) __builtin_memcpy(rows + i * row_stride, x + i, 8);
}

// Copies 64 x 64 codes into row-major order.
void transpose_tile(BinnedTable& table, std::int64_t first_row, std::int64_t first_col) {
  const std::int64_t n_rows = std::min(kTile, table.n_rows - first_row),
                     n_cols = std::min(kTile, table.n_cols - first_col);
  const std::uint8_t* codes = raw(table.codes) + first_col * table.n_rows + first_row;
  std::uint8_t* out = raw(table.row_codes) + first_row * table.row_stride + first_col;
  const std::int64_t whole_rows = n_rows / 8 * 8, whole_cols = n_cols / 8 * 8;
  for (std::int64_t c = 0; c < whole_cols; c += 8)
    for (std::int64_t r = 0; r < whole_rows; r += 8)
      transpose_eight(codes + c * table.n_rows + r, table.n_rows, out + r * table.row_stride + c,
                 table.row_stride);
  for (std::int64_t c = 0; c < n_cols; ++c)
    for (std::int64_t r = c < whole_cols ? whole_rows : 0; r < n_rows; ++r)
      out[r * table.row_stride + c] = codes[c * table.n_rows + r];
}

KEDGE_CLONES std::int64_t count_uncommon(const std::uint8_t* codes, const std::uint8_t* common,
                                         std::int64_t n_cols) {
  std::uint32_t n = 0;
  for (std::int64_t f = 0; f < n_cols; ++f) n += codes[f] != common[f];
  return n;
}

// Writes the record of a row to `out`, whose first layout.codes bytes are zero.
void write_record(const RecordLayout& layout, std::int64_t n_cols, const std::uint8_t* codes,
                  const std::uint8_t* common, std::uint64_t* out) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(out);
  std::uint8_t* const first = bytes + layout.codes;
  std::uint8_t *next = first, *group = first;
  for (std::int64_t f = 0; f < n_cols; ++f) {
    if (f % RecordLayout::kGroup == 0) {
      group = next;
      const auto start = static_cast<std::uint16_t>(group - first);
      __builtin_memcpy(bytes + layout.starts + f / RecordLayout::kGroup * 2, &start, sizeof start);
    }
    if (f % RecordLayout::kBlock == 0)
      bytes[layout.ranks + f / RecordLayout::kBlock] = static_cast<std::uint8_t>(next - group);
    const bool uncommon = codes[f] != common[f];
    *next = codes[f];
    next += uncommon;
    out[f / 64] |= std::uint64_t{uncommon} << (f % 64);
  }
}

// Calls visit(begin, end) for tiles of rows on several threads.
template <class Visit>
void for_row_tiles(const BinnedTable& table, int n_threads, const Visit& visit) {
  parallel_tasks(n_threads, (table.n_rows + kTile - 1) / kTile, [&](std::int64_t tile, int) {
    visit(tile * kTile, std::min(table.n_rows, (tile + 1) * kTile));
  });
}

// table.record_of[row + 1] holds the length of the row's record in words.
void add_records(BinnedTable& table, const std::vector<std::uint8_t>& common, Memory& memory, int n_threads) {
  const RecordLayout layout(table.n_cols);
  std::partial_sum(table.record_of.begin(), table.record_of.end(), table.record_of.begin());
  table.records = large_array<std::uint64_t>(memory, table.record_of.back() + kRecordSlack);
  const bool wide = WideNodes::is_available();
  for_row_tiles(table, n_threads, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint64_t> record(static_cast<std::size_t>((layout.codes + table.n_cols) / 8 + 16));
    for (std::int64_t row = begin; row < end; ++row) {
      const std::uint8_t* codes = raw(table.row_codes) + row * table.row_stride;
      std::fill_n(record.begin(), layout.codes / 8, 0);
      (wide ? write_record_wide : write_record)(layout, table.n_cols, codes, common.data(), record.data());
      std::copy_n(record.begin(), table.record_of[row + 1] - table.record_of[row],
                  raw(table.records) + table.record_of[row]);
    }
  });
}

}  // namespace

void add_row_forms(BinnedTable& table, Memory& memory, int n_threads) {
  if (table.n_rows == 0 || table.n_cols == 0) return;
  const double uncommon = find_common_bins(table, n_threads);
  table.row_stride = (table.n_cols + 63) / 64 * 64;
  table.row_codes = large_array<std::uint8_t>(memory, table.n_rows * table.row_stride);
  const double cols = static_cast<double>(table.n_cols),
               words = static_cast<double>(table.n_rows) * (uncommon * cols / 8 + cols / 40 + 4);
  const bool listed = uncommon <= kListedShare && table.n_cols <= kRecordColumns && words < 4e9;
  std::vector<std::uint8_t> common(table.common.begin(), table.common.end());
  common.resize(static_cast<std::size_t>(table.row_stride));
  if (listed) table.record_of.assign(static_cast<std::size_t>(table.n_rows) + 1, 0);
  const RecordLayout layout(table.n_cols);
  for_row_tiles(table, n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t col = 0; col < table.n_cols; col += kTile) transpose_tile(table, begin, col);
    for (std::int64_t row = begin; listed && row < end; ++row) {
      const std::int64_t codes =
          count_uncommon(raw(table.row_codes) + row * table.row_stride, common.data(), table.n_cols);
      table.record_of[row + 1] =
          static_cast<std::uint32_t>((layout.codes + codes + 1 + 7) / 8);  // one byte more may be read
    }
  });
  if (listed)
    add_records(table, common, memory, n_threads);
  else
    std::fill(table.common.begin(), table.common.end(), kNoCommonBin);
}

}  // namespace kedge::engine
