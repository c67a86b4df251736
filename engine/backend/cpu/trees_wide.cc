// AVX-512 (with VBMI2, so Ice Lake and Zen 4 on) code of the two inner loops of tree growing. Every function names its target, so
// that nothing else is compiled for it.
#include "engine/backend/cpu/trees_score.h"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"   // gcc 12 warns about its own undefined registers (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#define KEDGE_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))
#define KEDGE_WIDE_INLINE KEDGE_WIDE __attribute__((always_inline)) inline

namespace kedge::engine {

bool wide_kernels_available() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}

namespace {

// The bits of up to 64 columns, picked out of a row of 1,024 bits by two byte permutations.
struct BitPicker {
  __m512i byte, bit;
};

KEDGE_WIDE_INLINE BitPicker make_picker(const std::uint32_t* features, int n) {
  alignas(64) std::uint8_t byte[64] = {}, bit[64] = {};
  for (int k = 0; k < n; ++k) {
    byte[k] = static_cast<std::uint8_t>(features[k] >> 3);
    bit[k] = static_cast<std::uint8_t>(1u << (features[k] & 7));
  }
  return {_mm512_load_si512(byte), _mm512_load_si512(bit)};
}

KEDGE_WIDE_INLINE std::uint64_t pick(const BitPicker& picker, __m512i low, __m512i high) {
  return _cvtmask64_u64(_mm512_test_epi8_mask(_mm512_permutex2var_epi8(low, picker.byte, high), picker.bit));
}

KEDGE_WIDE_INLINE __m512i byte_iota() {
  alignas(64) std::uint8_t values[64];
  for (int i = 0; i < 64; ++i) values[i] = static_cast<std::uint8_t>(i);
  return _mm512_load_si512(values);
}

}  // namespace

namespace {

// How the code of one column is found in a record, and where its rows are listed.
struct ListedColumn {
  std::uint64_t before;   // the bits of the columns before it in its word
  CodedRow* end;
  std::uint32_t word;
};

// The cells off the common bin of a block of rows: which of the listed columns, and which row of the block. The block is small, so
// that its records are still in the first-level cache when its cells are read.
struct CellBlock {
  static constexpr std::uint32_t kRows = 16;
  const std::uint64_t* record[kRows];
  std::uint32_t drawn[kRows];
  alignas(64) std::uint8_t column[kRows * 64 + 64];
  alignas(64) std::uint8_t row[kRows * 64 + 64];
  std::uint32_t n = 0;
};

// Whole vectors are written and then overwritten, so that no branch depends on how many cells a row has.
KEDGE_WIDE_INLINE void find_cells(const BinnedTable& table, const TreeRow* rows, std::uint32_t n, std::uint32_t n_ahead,
                                  const BitPicker& picker, CellBlock& block) {
  const std::uint64_t* records = table.records.data();
  const std::int64_t words = table.record_words;
  const auto low_words = static_cast<__mmask8>(words >= 8 ? 0xff : (1u << words) - 1);
  const auto high_words = static_cast<__mmask8>(words > 8 ? (1u << (words - 8)) - 1 : 0);
  const __m512i iota = byte_iota();
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint64_t* next = records + rows[i + n_ahead].record;
    for (int line = 0; line < 5; ++line) __builtin_prefetch(next + line * 8);
    const std::uint64_t* record = records + rows[i].record;
    block.record[i] = record;
    block.drawn[i] = std::uint32_t{rows[i].cls} << 16 | rows[i].weight;
    const std::uint64_t mask = pick(picker, _mm512_maskz_loadu_epi64(low_words, record), _mm512_maskz_loadu_epi64(high_words, record + 8));
    _mm512_storeu_si512(block.column + at, _mm512_maskz_compress_epi8(_cvtu64_mask64(mask), iota));
    _mm512_storeu_si512(block.row + at, _mm512_set1_epi8(static_cast<char>(i)));
    at += static_cast<std::uint32_t>(std::popcount(mask));
  }
  block.n = at;
}

KEDGE_WIDE_INLINE void list_cells(const CellBlock& block, std::int64_t words, ListedColumn* columns) {
  for (std::uint32_t i = 0; i < block.n; ++i) {
    ListedColumn& column = columns[block.column[i]];
    const std::uint64_t* record = block.record[block.row[i]];
    const auto* counts = reinterpret_cast<const std::uint16_t*>(record + words);
    const auto* codes = reinterpret_cast<const std::uint8_t*>(counts + words);
    const std::uint32_t code = codes[counts[column.word] + std::popcount(record[column.word] & column.before)];
    *column.end++ = code << 20 | block.drawn[block.row[i]];
  }
}

}  // namespace

KEDGE_WIDE void wide_code_rows(const BinnedTable& table, const TreeRow* rows, std::uint32_t n, const std::uint32_t* features,
                               int n_features, CodedRow* lists, std::int64_t list_stride, std::uint32_t* list_size) {
  const BitPicker picker = make_picker(features, n_features);
  ListedColumn columns[64];
  for (int k = 0; k < n_features; ++k)
    columns[k] = {(std::uint64_t{1} << (features[k] % 64)) - 1, lists + k * list_stride, features[k] / 64};
  CellBlock block;
  for (std::uint32_t i = 0; i < n; i += CellBlock::kRows) {
    const std::uint32_t here = std::min(n - i, CellBlock::kRows);
    const std::uint32_t ahead = n - i - here < CellBlock::kRows ? 0 : CellBlock::kRows;   // where to look for rows to prefetch
    find_cells(table, rows + i, here, ahead, picker, block);
    list_cells(block, table.record_words, columns);
  }
  for (int k = 0; k < n_features; ++k) list_size[k] = static_cast<std::uint32_t>(columns[k].end - (lists + k * list_stride));
}

namespace {

// Class counts by bin, 16 lanes of 16 bits a bin, all zero between calls; the bins in use and the cuts between them.
struct BinCounts {
  alignas(64) std::uint16_t lanes[257][16];   // the last is always zero
  alignas(64) std::uint8_t used[256];
  alignas(64) std::uint8_t bins[256 + 64];    // those in use, ascending
  alignas(64) std::uint32_t left_squares[264], right_squares[264], left[264];
};

KEDGE_WIDE_INLINE __m256i lanes_of(BinCounts& counts, int bin) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(counts.lanes[bin]));
}
KEDGE_WIDE_INLINE void set_lanes(BinCounts& counts, int bin, __m256i v) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts.lanes[bin]), v);
}

KEDGE_WIDE_INLINE void count_rows(const CodedRow* rows, std::uint32_t n, BinCounts& counts) {
  std::uint16_t* lanes = counts.lanes[0];
  for (std::uint32_t i = 0; i < n; ++i) {
    const CodedRow row = rows[i];
    lanes[row >> 16] = static_cast<std::uint16_t>(lanes[row >> 16] + row);
    counts.used[row >> 20] = 1;
  }
}

// Lists the bins in use and forgets them; returns how many there are.
KEDGE_WIDE_INLINE int take_bins(BinCounts& counts, __m512i iota) {
  int n = 0;
  for (int w = 0; w < 4; ++w) {
    const __m512i used = _mm512_load_si512(counts.used + w * 64);
    const __mmask64 mask = _mm512_test_epi8_mask(used, used);
    const __m512i packed = _mm512_maskz_compress_epi8(mask, _mm512_add_epi8(iota, _mm512_set1_epi8(static_cast<char>(w * 64))));
    _mm512_storeu_si512(counts.bins + n, packed);
    n += std::popcount(_cvtmask64_u64(mask));
    _mm512_store_si512(counts.used + w * 64, _mm512_setzero_si512());
  }
  return n;
}

// Sums of the lanes of four vectors.
KEDGE_WIDE_INLINE __m128i four_sums(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
  return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

// Sums of both sides of the cut behind each bin; clears the counts.
KEDGE_WIDE_INLINE void sum_sides(BinCounts& counts, int n, __m256i node) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i left = _mm256_setzero_si256();
  for (int i = 0; i < n; i += 4) {
    __m256i left_squares[4], right_squares[4], sums[4];
    for (int k = 0; k < 4; ++k) {
      const int bin = i + k < n ? counts.bins[i + k] : 256;
      left = _mm256_add_epi16(left, lanes_of(counts, bin));
      set_lanes(counts, bin, _mm256_setzero_si256());
      const __m256i right = _mm256_sub_epi16(node, left);
      left_squares[k] = _mm256_madd_epi16(left, left);
      right_squares[k] = _mm256_madd_epi16(right, right);
      sums[k] = _mm256_madd_epi16(left, ones);
    }
    const auto store = [i](std::uint32_t* to, const __m256i* v) KEDGE_WIDE {
      _mm_store_si128(reinterpret_cast<__m128i*>(to + i), four_sums(v[0], v[1], v[2], v[3]));
    };
    store(counts.left_squares, left_squares), store(counts.right_squares, right_squares), store(counts.left, sums);
  }
}

// Scores of eight cuts from i on, of n in all; others get -1.
KEDGE_WIDE_INLINE __m512d eight_scores(const BinCounts& counts, int i, int n, double drawn) {
  const auto load = [i](const std::uint32_t* from) KEDGE_WIDE {
    return _mm512_cvtepu32_pd(_mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  };
  const __m512d left = load(counts.left), right = _mm512_sub_pd(_mm512_set1_pd(drawn), left);
  const __m512d score = _mm512_add_pd(_mm512_div_pd(load(counts.left_squares), left), _mm512_div_pd(load(counts.right_squares), right));
  const auto valid = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1 << (n - i)) - 1);
  return _mm512_mask_blend_pd(valid, _mm512_set1_pd(-1), score);
}

KEDGE_WIDE_INLINE __m256i node_lanes(const NodeTotals& totals) {
  return _mm512_cvtepi32_epi16(_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << totals.n_classes) - 1), totals.counts));
}

// Scores the cuts between the first n of counts.bins and clears their counts.
KEDGE_WIDE_INLINE bool score_taken(BinCounts& counts, int n, __m256i node, const NodeTotals& totals, BestCut& best) {
  sum_sides(counts, n, node);
  if (n < 2) return false;
  alignas(64) double scores[264];
  __m512d top = _mm512_set1_pd(-1);
  for (int i = 0; i < n - 1; i += 8) {
    const __m512d eight = eight_scores(counts, i, n - 1, static_cast<double>(totals.drawn));
    _mm512_store_pd(scores + i, eight);
    top = _mm512_max_pd(top, eight);
  }
  const double score = _mm512_reduce_max_pd(top);
  if (!(score > best.score)) return true;
  int i = 0;
  while (scores[i] != score) ++i;
  best.score = score, best.left_bin = counts.bins[i], best.right_bin = counts.bins[i + 1];
  return true;
}

// A column with many uncommon rows: class counts by bin, then the cuts between the bins.
KEDGE_WIDE bool score_by_bins(const CodedColumn& column, const NodeTotals& totals, BinCounts& counts, BestCut& best) {
  count_rows(column.coded, column.n_coded, counts);
  const int common = column.common;
  const bool has_common = column.n_coded < column.n_rows;
  if (has_common) counts.used[common] = 1;
  const int n = take_bins(counts, byte_iota());
  const __m256i node = node_lanes(totals);
  if (has_common) {
    __m256i rest = node;
    for (int i = 0; i < n; ++i) rest = _mm256_sub_epi16(rest, lanes_of(counts, counts.bins[i]));
    set_lanes(counts, common, rest);
  }
  return score_taken(counts, n, node, totals, best);
}

// Lists the bins that any row was counted in.
KEDGE_WIDE_INLINE int find_bins(BinCounts& counts) {
  int n = 0;
  for (int bin = 0; bin < 256; ++bin) {
    const __m256i lanes = lanes_of(counts, bin);
    counts.bins[n] = static_cast<std::uint8_t>(bin);
    n += !_mm256_testz_si256(lanes, lanes);
  }
  return n;
}

// Counts all rows in kSweep columns at once.
KEDGE_WIDE_INLINE void count_columns(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes, BinCounts* counts) {
  const std::uint8_t *const c0 = codes[0], *const c1 = codes[1], *const c2 = codes[2], *const c3 = codes[3];
  std::uint16_t *const h0 = counts[0].lanes[0], *const h1 = counts[1].lanes[0];
  std::uint16_t *const h2 = counts[2].lanes[0], *const h3 = counts[3].lanes[0];
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t row = rows[i].row, cls = rows[i].cls;
    const auto weight = rows[i].weight;
    h0[c0[row] * 16u + cls] += weight, h1[c1[row] * 16u + cls] += weight;
    h2[c2[row] * 16u + cls] += weight, h3[c3[row] * 16u + cls] += weight;
  }
}

// A column with few uncommon rows: the rows sorted by code, 16 at most.
struct FewRows {
  static constexpr std::uint32_t kMost = 16;
  std::uint32_t n = 0;
  CodedRow row[kMost + 1];
  std::uint32_t code(std::uint32_t i) const { return row[i] >> 20; }
};

KEDGE_WIDE_INLINE void sort_few(const CodedRow* rows, std::uint32_t n, FewRows& few) {
  alignas(64) std::uint32_t key[FewRows::kMost];   // code and position: all different
  for (std::uint32_t i = 0; i < n; ++i) key[i] = rows[i] >> 20 << 8 | i;
  const auto valid = static_cast<__mmask16>((1u << n) - 1);
  const __m512i keys = _mm512_maskz_loadu_epi32(valid, key);
  for (std::uint32_t i = 0; i < n; ++i) {
    const __mmask16 before = _mm512_mask_cmplt_epu32_mask(valid, keys, _mm512_set1_epi32(static_cast<int>(key[i])));
    few.row[std::popcount(static_cast<unsigned>(before))] = rows[i];
  }
  few.n = n;
}

// Sums over the rows on the outer side of a cut, as seen from the common bin, taken in one by one.
struct OuterSide {
  std::uint32_t counts[16] = {};
  std::int64_t squares = 0, product = 0, weight = 0;

  void add(CodedRow row, const NodeTotals& totals) {
    const std::uint32_t cls = (row >> 16) & 15;
    const std::int64_t w = row & 0xffff;
    squares += w * (2 * std::int64_t{counts[cls]} + w);
    product += w * totals.counts[cls];
    weight += w;
    counts[cls] += static_cast<std::uint32_t>(w);
  }
  // -1 if nothing is left on the other side.
  double score(const NodeTotals& totals) const {
    const std::int64_t other_squares = totals.squares - 2 * product + squares, other = totals.drawn - weight;
    return other > 0 ? gini_score(squares, weight, other_squares, other) : -1;
  }
};

KEDGE_WIDE bool score_few(const CodedColumn& column, const NodeTotals& totals, BestCut& best) {
  FewRows few;
  sort_few(column.coded, column.n_coded, few);
  const auto common = static_cast<std::uint32_t>(column.common);
  double below_score = -1, above_score = -1;
  std::uint32_t below = 0, below_at = 0, above_at = 0;   // rows below the common bin; first row right of the best cuts
  if (few.code(0) < common) {
    OuterSide side;
    for (; below < few.n && few.code(below) < common; ++below) {
      side.add(few.row[below], totals);
      if (below + 1 < few.n && few.code(below + 1) == few.code(below)) continue;
      const double score = side.score(totals);
      if (score > below_score) below_score = score, below_at = below + 1;
    }
  }
  OuterSide side;
  for (std::uint32_t i = few.n; i-- > below;) {
    side.add(few.row[i], totals);
    const bool last_of_bin = i == 0 || few.code(i - 1) != few.code(i);
    const double score = side.score(totals);
    const bool better = last_of_bin & (score >= above_score);   // the lower of equal cuts
    above_score = better ? score : above_score, above_at = better ? i : above_at;
  }
  const bool is_below = below_score >= above_score;
  const double score = is_below ? below_score : above_score;
  if (score < 0) return false;
  if (!(score > best.score)) return true;
  const std::uint32_t at = is_below ? below_at : above_at;
  const bool at_common = column.n_coded < column.n_rows && at == below;
  best.score = score;
  best.left_bin = static_cast<int>(at_common && !is_below ? common : few.code(at - 1));
  best.right_bin = static_cast<int>(at_common && is_below ? common : few.code(at));
  return true;
}

}  // namespace

// What WideScorer keeps between calls.
struct WideScratch {
  BinCounts counts{};
  BinCounts sweep[WideScorer::kSweep]{};
};

WideScorer::WideScorer() : scratch_(std::make_unique<WideScratch>()) {}
WideScorer::~WideScorer() = default;
WideScorer::WideScorer(WideScorer&&) noexcept = default;

KEDGE_WIDE bool WideScorer::score(const CodedColumn& column, const NodeTotals& totals, BestCut& best) {
  if (column.n_coded <= FewRows::kMost) return score_few(column, totals, best);
  return score_by_bins(column, totals, scratch_->counts, best);
}

KEDGE_WIDE void WideScorer::sweep(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes) {
  static_assert(kSweep == 4);
  for (BinCounts& counts : scratch_->sweep) std::memset(counts.lanes, 0, sizeof counts.lanes);   // a sweep may have been left half scored
  count_columns(rows, n, codes, scratch_->sweep);
}

KEDGE_WIDE bool WideScorer::score_swept(int column, const NodeTotals& totals, BestCut& best) {
  BinCounts& counts = scratch_->sweep[column];
  return score_taken(counts, find_bins(counts), node_lanes(totals), totals, best);
}

KEDGE_WIDE std::uint32_t wide_part_rows(const ColumnCodes& codes, int left_bin, TreeRow* rows, std::uint32_t n, TreeRow* right,
                                        std::int32_t* left_counts) {
  return part_rows(codes, left_bin, rows, n, right, left_counts);
}

}  // namespace kedge::engine
#pragma GCC diagnostic pop

#else

namespace kedge::engine {

bool wide_kernels_available() { return false; }
void wide_code_rows(const BinnedTable&, const TreeRow*, std::uint32_t, const std::uint32_t*, int, CodedRow*, std::int64_t,
                    std::uint32_t*) {}
std::uint32_t wide_part_rows(const ColumnCodes& codes, int left_bin, TreeRow* rows, std::uint32_t n, TreeRow* right,
                             std::int32_t* left_counts) {
  return part_rows(codes, left_bin, rows, n, right, left_counts);
}
struct WideScratch {};
WideScorer::WideScorer() = default;
WideScorer::~WideScorer() = default;
WideScorer::WideScorer(WideScorer&&) noexcept = default;
bool WideScorer::score(const CodedColumn&, const NodeTotals&, BestCut&) { return false; }
void WideScorer::sweep(const TreeRow*, std::uint32_t, const std::uint8_t* const*) {}
bool WideScorer::score_swept(int, const NodeTotals&, BestCut&) { return false; }

}  // namespace kedge::engine

#endif
