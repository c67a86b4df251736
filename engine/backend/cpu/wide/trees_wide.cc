// Reads and orders the rows of a subtree with AVX-512, and hands them to the code that scores them.
#include "engine/backend/cpu/wide/trees_wide.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "engine/backend/cpu/wide/trees_wide_bins.h"
#include "engine/backend/cpu/wide/trees_wide_few.h"
#include "engine/backend/cpu/wide/trees_wide_target.h"
#include "engine/backend/host/huge_pages.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kColumns = WideNodes::kColumns;
constexpr std::int64_t kRecordColumns = 1024;   // bits that two registers hold
constexpr std::uint32_t kBlock = 64;            // rows whose codes are turned together
constexpr std::uint32_t kAhead = 12;            // rows from one that is read to one that is fetched
constexpr std::uint32_t kFetched = 1024;        // rows from which on a node's records are not all near
constexpr int kFetchedLines = 5;                // of a record: most have no more
constexpr __mmask64 kEven = 0x5555555555555555;

struct alignas(64) Line {
  std::uint8_t byte[64];
};
using Lanes = std::uint16_t[kColumns];   // one for each column

KEDGE_WIDE_INLINE __m512i load(const void* from) { return _mm512_loadu_si512(from); }

// Where the codes of up to 32 columns are in a record.
struct Picker {
  alignas(64) Lanes block, bit, before, start, common;

  KEDGE_WIDE Picker(const BinnedTable& table, const std::uint32_t* features) {
    const __m512i column = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(load(features))),
                                              _mm512_cvtepi32_epi16(load(features + 16)), 1);
    const __m512i ones = _mm512_set1_epi16(1), its_bit = _mm512_sllv_epi16(ones, _mm512_and_si512(column, _mm512_set1_epi16(15)));
    const __m512i group = _mm512_srli_epi16(column, 8);   // its 16 bits are bytes 2 group and 2 group + 1
    static_assert(RecordLayout::kBlock == 16 && RecordLayout::kGroup == 256);
    _mm512_store_si512(block, _mm512_srli_epi16(column, 4));
    _mm512_store_si512(bit, its_bit);
    _mm512_store_si512(before, _mm512_sub_epi16(its_bit, ones));
    _mm512_store_si512(start, _mm512_add_epi16(_mm512_mullo_epi16(group, _mm512_set1_epi16(0x202)), _mm512_set1_epi16(0x100)));
    for (int k = 0; k < kColumns; ++k) common[k] = static_cast<std::uint16_t>(table.common[features[k]]);
  }
};

// The bytes at `at` modulo 128, of 128.
KEDGE_WIDE_INLINE __m512i codes_at(const std::uint8_t* codes, __m512i at) {
  return _mm512_maskz_permutex2var_epi8(kEven, load(codes), at, load(codes + 64));
}

// A row's codes in all columns, in 16 bits each; the record has at most 256 codes and was prepared. May read up to 256 bytes
// behind it.
KEDGE_WIDE_INLINE __m512i read_short(const RecordLayout& layout, const Picker& picker, const std::uint8_t* record) {
  const __m512i block = load(picker.block);
  const __m512i bits = _mm512_permutex2var_epi16(load(record), block, load(record + 64));
  const __m512i before = _mm512_popcnt_epi16(_mm512_and_si512(bits, load(picker.before)));
  const __m512i at = _mm512_add_epi8(before, _mm512_permutexvar_epi8(block, load(record + layout.ranks)));
  const std::uint8_t* codes = record + layout.codes;
  const __mmask32 second = _mm512_test_epi16_mask(at, _mm512_set1_epi16(128)),
                  uncommon = _mm512_test_epi16_mask(bits, load(picker.bit));
  const __m512i near = _mm512_mask_mov_epi16(load(picker.common), uncommon, codes_at(codes, at));
  return _mm512_mask_mov_epi16(near, second & uncommon, codes_at(codes + 128, at));
}

// The same for a record of any length that was not prepared.
KEDGE_WIDE_INLINE __m512i read_long(const RecordLayout& layout, const Picker& picker, const std::uint8_t* record) {
  const __m512i block = load(picker.block);
  const __m512i bits = _mm512_permutex2var_epi16(load(record), block, load(record + 64));
  const __m512i before = _mm512_popcnt_epi16(_mm512_and_si512(bits, load(picker.before)));
  std::int64_t starts;
  std::memcpy(&starts, record + layout.starts, sizeof starts);
  const __m512i start = _mm512_shuffle_epi8(_mm512_set1_epi64(starts), load(picker.start));
  const __m512i at =
      _mm512_add_epi16(before, _mm512_add_epi16(start, _mm512_maskz_permutexvar_epi8(kEven, block, load(record + layout.ranks))));
  const __mmask32 uncommon = _mm512_test_epi16_mask(bits, load(picker.bit));
  __m512i result = load(picker.common);
  for (std::int64_t k = 0; k < kRecordColumns / 128; ++k) {
    const __mmask32 here =
        _mm512_mask_cmpeq_epi16_mask(uncommon, _mm512_srli_epi16(at, 7), _mm512_set1_epi16(static_cast<short>(k)));
    if (here != 0) result = _mm512_mask_mov_epi16(result, here, codes_at(record + layout.codes + k * 128, at));
  }
  return result;
}

// Makes a record's counts before each block those of the whole record, modulo 256.
KEDGE_WIDE_INLINE void prepare(const RecordLayout& layout, std::uint8_t* record) {
  std::int64_t starts;
  std::memcpy(&starts, record + layout.starts, sizeof starts);
  alignas(64) static constexpr std::array<std::uint8_t, 64> kLowByte = [] {
    std::array<std::uint8_t, 64> at{};
    for (std::size_t i = 0; i < 64; ++i) at[i] = static_cast<std::uint8_t>(i / 16 * 2);
    return at;
  }();
  const __mmask64 blocks = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(layout.words * 4));
  const __m512i start = _mm512_shuffle_epi8(_mm512_set1_epi64(starts), load(kLowByte.data()));
  _mm512_mask_storeu_epi8(record + layout.ranks, blocks, _mm512_add_epi8(load(record + layout.ranks), start));
}

// Turns 32 pairs of rows, codes of 32 columns in 16 bits, into 32 columns of 64 codes.
KEDGE_WIDE_INLINE void transpose(const Lanes* pairs, Line* columns, std::int64_t stride) {
  for (int part = 0; part < kColumns / 8; ++part) {
    const auto lane = [&](int pair)
                          KEDGE_WIDE { return _mm_load_si128(reinterpret_cast<const __m128i*>(pairs[pair] + part * 8)); };
    __m512i a[8], b[8];
    for (int i = 0; i < 8; ++i) {
      const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(i)), lane(i + 8), 1);
      const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(i + 16)), lane(i + 24), 1);
      a[i] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    // Each step turns the bits of a pair's number, three of the vector and three in its lane, left by one.
    for (int i = 0; i < 4; ++i)
      b[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]), b[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
    for (int i = 0; i < 4; ++i)
      a[2 * i] = _mm512_unpacklo_epi16(b[i], b[i + 4]), a[2 * i + 1] = _mm512_unpackhi_epi16(b[i], b[i + 4]);
    for (int i = 0; i < 4; ++i)
      b[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]), b[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
    for (int i = 0; i < 8; ++i) _mm512_store_si512(columns + (part * 8 + i) * stride, b[i]);
  }
}

}   // namespace

struct WideNodes::Impl {
  explicit Impl(const BinnedTable& binned)
      : table(binned), layout(binned.n_cols), recorded(binned.records.size() > 0 && binned.n_cols <= kRecordColumns) {}

  // A loaded row: its number among them in the upper 24 bits, its class and how often it was drawn in four bits each.
  using Packed = std::uint32_t;

  static constexpr std::uint32_t kLong = 1u << 31;   // in `where`: more codes than a byte counts
  void load_records(std::uint32_t n);
  void fetch(Packed row) const;
  __m512i read_row(const Picker& picker, Packed row) const;
  void read_few(std::uint32_t begin, std::uint32_t n);
  void read_columns(std::uint32_t begin, std::uint32_t n);
  bool score_columns(std::uint32_t n, bool stop_at_varying, const NodeTotals& totals, BestCut& best);
  std::uint32_t list_column(int k, std::uint32_t n);
  std::uint64_t left_rows(int k, std::uint32_t block, std::uint32_t n, int left_bin) const;
  void count_left(std::uint64_t left, std::uint32_t block, std::int32_t n_classes, std::int32_t* left_counts) const;

  const BinnedTable& table;
  const RecordLayout layout;
  const bool recorded;   // else rows are read from table.row_codes
  std::vector<TreeRow> loaded;
  std::vector<std::uint32_t> where;   // by loaded row: its line in `records`, or its number in the table
  HugeBuffer<Line> records;           // copies, each from the start of a line
  std::vector<Packed> rows, right;
  // What was read last.
  std::uint32_t features[kColumns] = {};
  int n_features = 0;
  bool few_rows = false;
  std::int64_t stride = 0;            // lines from column to column
  std::vector<Line> columns, drawn;   // codes by column; class and count, 64 rows a line
  std::vector<WideRow> list;
  FewRows few;
  BinCounts counts[2]{}, swept[kSweep]{};
};

bool WideNodes::is_available() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vnni");
}

WideNodes::WideNodes(const BinnedTable& table) : impl_(std::make_unique<Impl>(table)) {}
WideNodes::~WideNodes() = default;
WideNodes::WideNodes(WideNodes&&) noexcept = default;

void WideNodes::load(const TreeRow* rows, std::uint32_t n) {
  Impl& at = *impl_;
  at.loaded.assign(rows, rows + n);
  at.where.resize(n), at.rows.resize(n), at.right.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    at.where[i] = rows[i].row;
    at.rows[i] = i << 8 | static_cast<std::uint32_t>(rows[i].cls << 4) | rows[i].weight;
  }
  if (at.recorded) at.load_records(n);
  at.drawn.resize(n / kBlock + 1), at.list.resize(n + 2 * kColumns);
}

KEDGE_WIDE void WideNodes::Impl::load_records(std::uint32_t n) {
  const std::uint64_t* from = raw(table.records);
  std::int64_t lines = 4;   // a reader may look behind the last record
  for (const TreeRow& row : loaded) lines += (table.record_of[row.row + 1] - row.record + 7) / 8;
  records.reserve(static_cast<std::size_t>(lines));
  std::uint32_t line = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint64_t* ahead = from + loaded[std::min(n - 1, i + kAhead)].record;
    for (int k = 0; k < 6; ++k) __builtin_prefetch(ahead + k * 8);
    const std::uint32_t begin = loaded[i].record, end = table.record_of[loaded[i].row + 1];
    const std::uint32_t first = line;
    for (std::uint32_t word = begin; word < end; word += 8, ++line)
      _mm512_store_si512(records.data() + line, ::kedge::engine::load(from + word));
    const bool is_long = static_cast<std::int64_t>(end - begin) * 8 > layout.codes + 256;
    where[i] = is_long ? first | kLong : first;
    if (!is_long) prepare(layout, records.data()[first].byte);
  }
}

void WideNodes::store(TreeRow* rows) const {
  for (const Impl::Packed row : impl_->rows) *rows++ = impl_->loaded[row >> 8];
}

// Prefetches the record of a row that is read soon: a subtree's rows lie in the order in which they were loaded, not in
// the node's.
KEDGE_WIDE_INLINE void WideNodes::Impl::fetch(Packed row) const {
  const Line* record = records.data() + (where[row >> 8] & ~kLong);
  for (int k = 0; k < kFetchedLines; ++k) __builtin_prefetch(record + k);
}

KEDGE_WIDE_INLINE __m512i WideNodes::Impl::read_row(const Picker& picker, Packed row) const {
  const std::uint32_t at = where[row >> 8];
  if (recorded) {
    if ((at & kLong) != 0) [[unlikely]]
      return read_long(layout, picker, records.data()[at & ~kLong].byte);
    return read_short(layout, picker, records.data()[at].byte);
  }
  const std::uint8_t* codes = raw(table.row_codes) + at * table.row_stride;
  alignas(32) std::uint8_t code[kColumns];
  for (int k = 0; k < kColumns; ++k) code[k] = codes[features[k]];
  return _mm512_cvtepu8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(code)));
}

KEDGE_WIDE void WideNodes::Impl::read_few(std::uint32_t begin, std::uint32_t n) {
  const Picker picker(table, features);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Packed row = rows[begin + i];
    const auto cls_drawn = static_cast<std::uint8_t>(row);
    drawn[0].byte[i] = cls_drawn;
    _mm512_store_si512(few.row[i], _mm512_or_si512(_mm512_slli_epi16(read_row(picker, row), 8), _mm512_set1_epi16(cls_drawn)));
  }
}

KEDGE_WIDE void WideNodes::Impl::read_columns(std::uint32_t begin, std::uint32_t n) {
  const Picker picker(table, features);
  stride = (n + kBlock - 1) / kBlock;
  if (static_cast<std::int64_t>(columns.size()) < stride * kColumns) columns.resize(static_cast<std::size_t>(stride * kColumns));
  alignas(64) Lanes pairs[kBlock / 2];
  for (std::uint32_t block = 0; block * kBlock < n; ++block) {
    const Packed* from = rows.data() + begin + block * kBlock;
    const std::uint32_t here = std::min(kBlock, n - block * kBlock);
    for (std::uint32_t i = 0; i < here; ++i) drawn[block].byte[i] = static_cast<std::uint8_t>(from[i]);
    for (std::uint32_t i = 0; i < here; i += 2) {
      if (recorded && n >= kFetched) fetch(from[std::min(here - 1, i + kAhead)]), fetch(from[std::min(here - 1, i + kAhead + 1)]);
      const __m512i second = read_row(picker, from[std::min(i + 1, here - 1)]);
      _mm512_store_si512(pairs[i / 2], _mm512_or_si512(read_row(picker, from[i]), _mm512_slli_epi16(second, 8)));
    }
    transpose(pairs, columns.data() + block, stride);
  }
}

// Lists the rows that are not at the column's common bin, in any order; returns how many.
KEDGE_WIDE std::uint32_t WideNodes::Impl::list_column(int k, std::uint32_t n) {
  const Line* codes = columns.data() + k * stride;
  const std::int32_t common = table.common[features[k]];
  WideRow* out = list.data();
  for (std::uint32_t block = 0; block * kBlock < n; ++block) {
    const std::uint32_t here = n - block * kBlock;
    const __m512i code = _mm512_load_si512(codes + block), other = _mm512_load_si512(drawn.data() + block);
    std::uint64_t uncommon = here >= kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    if (common != kNoCommonBin) uncommon &= _mm512_cmpneq_epi8_mask(code, _mm512_set1_epi8(static_cast<char>(common)));
    const auto low = static_cast<std::uint32_t>(_pext_u64(uncommon, 0x00ff00ff00ff00ff));
    const auto high = static_cast<std::uint32_t>(_pext_u64(uncommon, 0xff00ff00ff00ff00));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(low, _mm512_unpacklo_epi8(other, code)));
    out += std::popcount(low);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(high, _mm512_unpackhi_epi8(other, code)));
    out += std::popcount(high);
  }
  return static_cast<std::uint32_t>(out - list.data());
}

// Counts each column before the one before it is scored: vectors are then not read while parts of them are still being written.
bool WideNodes::Impl::score_columns(std::uint32_t n, bool stop_at_varying, const NodeTotals& totals, BestCut& best) {
  bool varies = false;
  int counted = -1;              // column whose counts wait in counts[slot]
  std::int32_t common = 0;       // its common bin, if any row is there
  int slot = 0;
  for (int k = 0; k <= n_features; ++k) {
    std::int32_t next_common = kNoCommonBin;
    if (k < n_features) {
      const std::uint32_t n_listed = list_column(k, n);
      if (n_listed == 0) continue;   // all at the common bin
      if (n_listed < n) next_common = table.common[features[k]];
      count_rows(list.data(), n_listed, next_common, counts[1 - slot]);
    }
    if (counted >= 0) {
      const double before = best.score;
      varies |= score_bins(common, totals, counts[slot], best);
      if (best.score > before) best.feature = static_cast<std::int32_t>(features[counted]);
      if (best.score >= static_cast<double>(totals.drawn) || (varies && stop_at_varying)) return clear(counts[1 - slot]), varies;
    }
    counted = k, common = next_common, slot = 1 - slot;
  }
  return varies;
}

bool WideNodes::score(std::uint32_t begin, std::uint32_t end, const std::uint32_t* features, int n_features, bool stop_at_varying,
                      const NodeTotals& totals, BestCut& best) {
  Impl& at = *impl_;
  const std::uint32_t n = end - begin;
  std::fill(std::copy_n(features, n_features, at.features), at.features + kColumns, 0u);
  at.n_features = n_features;
  at.few_rows = n <= FewRows::kMost && totals.drawn <= FewRows::kMostDrawn;
  if (at.few_rows) {
    at.read_few(begin, n);
    return score_few(at.few, n, features, n_features, stop_at_varying, totals, best);
  }
  at.read_columns(begin, n);
  return at.score_columns(n, stop_at_varying, totals, best);
}

// The rows of a block whose code in column k is at most left_bin.
KEDGE_WIDE_INLINE std::uint64_t WideNodes::Impl::left_rows(int k, std::uint32_t block, std::uint32_t n, int left_bin) const {
  std::uint64_t left = 0;
  if (few_rows) {
    for (std::uint32_t i = 0; i < n; ++i) left |= std::uint64_t{few.row[i][k] >> 8 <= left_bin} << i;
    return left;
  }
  left = _mm512_cmple_epu8_mask(_mm512_load_si512(columns.data() + k * stride + block),
                                _mm512_set1_epi8(static_cast<char>(left_bin)));
  return n - block * kBlock >= kBlock ? left : _bzhi_u64(left, n % kBlock);
}

KEDGE_WIDE_INLINE void WideNodes::Impl::count_left(std::uint64_t left, std::uint32_t block, std::int32_t n_classes,
                                                   std::int32_t* left_counts) const {
  const __m512i all = _mm512_load_si512(drawn.data() + block);
  const __m512i weight = _mm512_and_si512(all, _mm512_set1_epi8(15)),
                cls = _mm512_and_si512(all, _mm512_set1_epi8(static_cast<char>(0xf0)));
  for (std::int32_t c = 0; c < n_classes; ++c) {
    const __mmask64 same = _mm512_mask_cmpeq_epi8_mask(left, cls, _mm512_set1_epi8(static_cast<char>(c << 4)));
    const __m512i sums = _mm512_sad_epu8(_mm512_maskz_mov_epi8(same, weight), _mm512_setzero_si512());
    left_counts[c] += static_cast<std::int32_t>(_mm512_reduce_add_epi64(sums));
  }
}

KEDGE_WIDE std::uint32_t WideNodes::partition(std::uint32_t begin, std::uint32_t end, const BestCut& cut, std::int32_t n_classes,
                                              std::int32_t* left_counts) {
  Impl& at = *impl_;
  const std::uint32_t n = end - begin;
  int k = static_cast<int>(std::find(at.features, at.features + at.n_features, static_cast<std::uint32_t>(cut.feature)) -
                           at.features);
  if (k == at.n_features) {   // it was not in the last group of columns
    k = 0, at.n_features = 1, at.features[0] = static_cast<std::uint32_t>(cut.feature);
    at.few_rows ? at.read_few(begin, n) : at.read_columns(begin, n);
  }
  Impl::Packed *const rows = at.rows.data() + begin, *left_end = rows, *right_end = at.right.data();
  for (std::uint32_t block = 0; block * kBlock < n; ++block) {
    std::uint64_t left = at.left_rows(k, block, n, cut.left_bin);
    at.count_left(left, block, n_classes, left_counts);
    for (std::uint32_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); i += 16, left >>= 16) {
      const auto valid = static_cast<__mmask16>(_bzhi_u32(0xffff, std::min(16u, n - i))), to_left = static_cast<__mmask16>(left);
      const auto to_right = static_cast<__mmask16>(valid & ~to_left);
      const __m512i v = _mm512_maskz_loadu_epi32(valid, rows + i);
      const int n_left = std::popcount(static_cast<unsigned>(to_left)), n_right = std::popcount(static_cast<unsigned>(to_right));
      _mm512_mask_storeu_epi32(left_end, static_cast<__mmask16>(_bzhi_u32(0xffff, n_left)),
                               _mm512_maskz_compress_epi32(to_left, v));
      _mm512_mask_storeu_epi32(right_end, static_cast<__mmask16>(_bzhi_u32(0xffff, n_right)),
                               _mm512_maskz_compress_epi32(to_right, v));
      left_end += n_left, right_end += n_right;
    }
  }
  std::memcpy(left_end, at.right.data(), static_cast<std::size_t>(right_end - at.right.data()) * sizeof(Impl::Packed));
  return begin + static_cast<std::uint32_t>(left_end - rows);
}

void WideNodes::sweep(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes) {
  count_columns(rows, n, codes, impl_->swept);
}

bool WideNodes::score_swept(int column, const NodeTotals& totals, BestCut& best) {
  return score_counted(totals, impl_->swept[column], best);
}

}   // namespace kedge::engine

#else

namespace kedge::engine {

struct WideNodes::Impl {};
bool WideNodes::is_available() { return false; }
WideNodes::WideNodes(const BinnedTable&) {}
WideNodes::~WideNodes() = default;
WideNodes::WideNodes(WideNodes&&) noexcept = default;
void WideNodes::load(const TreeRow*, std::uint32_t) {}
void WideNodes::store(TreeRow*) const {}
bool WideNodes::score(std::uint32_t, std::uint32_t, const std::uint32_t*, int, bool, const NodeTotals&, BestCut&) {
  return false;
}
std::uint32_t WideNodes::partition(std::uint32_t begin, std::uint32_t, const BestCut&, std::int32_t, std::int32_t*) {
  return begin;
}
void WideNodes::sweep(const TreeRow*, std::uint32_t, const std::uint8_t* const*) {}
bool WideNodes::score_swept(int, const NodeTotals&, BestCut&) { return false; }

}   // namespace kedge::engine

#endif
