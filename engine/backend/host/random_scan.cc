// The loops over a block of codes; each is a few vector instructions a row.
#include "engine/backend/host/random_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/backend/simd.h"
#include "engine/backend/tree_functors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kedge::engine {
namespace {

constexpr std::int64_t kSlack = 64;      // bytes that a row of the block may be written beyond its end
constexpr std::int64_t kTallied = 255;   // rows that bytes can count

// No wider than those of AVX2: vectors that a CPU does not have are split by the compiler through memory, ten times
// slower. With AVX-512 they cost hardly more.
template <int kWidth>
struct ByteVector {
  static constexpr int kSize = kWidth < 32 ? kWidth : 32;
  using Type [[gnu::vector_size(kSize)]] = std::uint8_t;
};
template <int kWidth>
using Bytes = typename ByteVector<kWidth>::Type;
template <int kWidth>
constexpr int kVectors = kWidth / static_cast<int>(sizeof(Bytes<kWidth>));   // of a row
using SixteenBytes [[gnu::vector_size(16)]] = std::uint8_t;
using SixteenMasks [[gnu::vector_size(16)]] = std::int8_t;
using FourSums [[gnu::vector_size(32)]] = std::int64_t;

// Vectors lie anywhere.
template <class V>
[[gnu::always_inline]] inline V& load(const void* from, V& to) {
  __builtin_memcpy(&to, from, sizeof to);
  return to;
}
template <class V>
[[gnu::always_inline]] inline void store(void* to, const V& from) {
  __builtin_memcpy(to, &from, sizeof from);
}

template <int kWidth>
[[gnu::always_inline]] inline void find_ranges(const std::uint8_t* codes, std::int64_t n, std::uint8_t* least,
                                               std::uint8_t* most) {
  for (std::size_t first = 0; first < kWidth; first += sizeof(Bytes<kWidth>)) {
    Bytes<kWidth> low, high, row;
    load(codes + first, low), load(codes + first, high);
    for (std::int64_t i = 1; i < n; ++i) {
      load(codes + i * kWidth + first, row);
      low = row < low ? row : low, high = row > high ? row : high;
    }
    store(least + first, low), store(most + first, high);
  }
}

// A row on the left of a cut is 1 in its byte of the tally; bytes are added up before they can overflow.
template <int kWidth>
[[gnu::always_inline]] inline void count_rows(const std::uint8_t* codes, std::int64_t n, const std::uint8_t* left_bin,
                                              const std::int32_t* group, std::int32_t n_groups, std::uint8_t* tally,
                                              std::int32_t* counts) {
  constexpr std::size_t kSize = sizeof(Bytes<kWidth>);
  Bytes<kWidth> left[kVectors<kWidth>], row, sum;
  for (std::size_t v = 0; v < kVectors<kWidth>; ++v) load(left_bin + v * kSize, left[v]);
  for (std::int64_t first = 0; first < n; first += kTallied) {
    const std::int64_t last = std::min(n, first + kTallied);
    std::memset(tally, 0, static_cast<std::size_t>(n_groups * kWidth));
    for (std::int64_t i = first; i < last; ++i) {
      std::uint8_t* const own = tally + (group ? group[i] * kWidth : 0);
      for (std::size_t v = 0; v < kVectors<kWidth>; ++v) {
        load(codes + i * kWidth + v * kSize, row), load(own + v * kSize, sum);
        sum -= reinterpret_cast<Bytes<kWidth>>(row <= left[v]);
        store(own + v * kSize, sum);
      }
    }
    for (std::int32_t g = 0; g < n_groups; ++g)
      for (int k = 0; k < kWidth; ++k) counts[g * CodeBlock::kMost + k] += tally[g * kWidth + k];
  }
}

// Adds the value to those of four sums whose byte of the mask is set.
template <int kPart>
[[gnu::always_inline]] inline void add_masked(const SixteenMasks& is_left, const FourSums& value, FourSums& sums) {
  sums += __builtin_convertvector(__builtin_shufflevector(is_left, is_left, 4 * kPart, 4 * kPart + 1, 4 * kPart + 2, 4 * kPart + 3), FourSums) & value;
}

// Sixteen cuts at a time: their sums fit the registers.
template <int kWidth>
[[gnu::always_inline]] inline void sum_rows(const std::uint8_t* codes, std::int64_t n, const std::uint8_t* left_bin,
                                            const std::int64_t* value, const std::int32_t* group, std::int64_t* sums) {
  for (int first = 0; first < kWidth; first += 16) {
    SixteenBytes left, row;
    load(left_bin + first, left);
    FourSums parts[4];
    load(sums + first, parts);
    for (std::int64_t i = 0; i < n; ++i) {
      load(codes + i * kWidth + first, row);
      const auto is_left = reinterpret_cast<SixteenMasks>(row <= left);
      const FourSums added = FourSums{} + value[i];
      std::int64_t* const own = sums + (group ? group[i] * CodeBlock::kMost : 0) + first;
      if (group) load(own, parts);
      add_masked<0>(is_left, added, parts[0]);
      add_masked<1>(is_left, added, parts[1]);
      add_masked<2>(is_left, added, parts[2]);
      add_masked<3>(is_left, added, parts[3]);
      if (group) store(own, parts);
    }
    if (!group) store(sums + first, parts);
  }
}

KEDGE_CLONES void ranges_of(const std::uint8_t* codes, std::int64_t n, std::int64_t width, std::uint8_t* least,
                            std::uint8_t* most) {
  if (width == 16) find_ranges<16>(codes, n, least, most);
  else if (width == 32) find_ranges<32>(codes, n, least, most);
  else find_ranges<64>(codes, n, least, most);
}

KEDGE_CLONES void count_left_of(const std::uint8_t* codes, std::int64_t n, std::int64_t width, const std::uint8_t* left_bin,
                                const std::int32_t* group, std::int32_t n_groups, std::uint8_t* tally, std::int32_t* counts) {
  if (width == 16) count_rows<16>(codes, n, left_bin, group, n_groups, tally, counts);
  else if (width == 32) count_rows<32>(codes, n, left_bin, group, n_groups, tally, counts);
  else count_rows<64>(codes, n, left_bin, group, n_groups, tally, counts);
}

KEDGE_CLONES void sum_left_of(const std::uint8_t* codes, std::int64_t n, std::int64_t width, const std::uint8_t* left_bin,
                              const std::int64_t* value, std::int64_t* sums) {
  if (width == 16) sum_rows<16>(codes, n, left_bin, value, nullptr, sums);
  else if (width == 32) sum_rows<32>(codes, n, left_bin, value, nullptr, sums);
  else sum_rows<64>(codes, n, left_bin, value, nullptr, sums);
}

KEDGE_CLONES void sum_groups(const std::uint8_t* codes, std::int64_t n, std::int64_t width, const std::uint8_t* left_bin,
                             const std::int64_t* value, const std::int32_t* group, std::int64_t* sums) {
  if (width == 16) sum_rows<16>(codes, n, left_bin, value, group, sums);
  else if (width == 32) sum_rows<32>(codes, n, left_bin, value, group, sums);
  else sum_rows<64>(codes, n, left_bin, value, group, sums);
}

// A binary search in all columns at once: how many of the bins from the least on end up to the threshold.
KEDGE_CLONES void place_all(std::int64_t n_cols, const std::int32_t* __restrict offset, const double* __restrict low,
                            const double* __restrict high, const std::uint32_t* __restrict columns,
                            const CutWords& drawn, CutPlaces& places) {
  std::array<std::int32_t, CodeBlock::kMost> begin, width, ended;
  double* __restrict const threshold = places.threshold.data();
  const std::uint8_t *const least = places.least.data(), *const most = places.most.data();
  std::int32_t widest = 0;
  for (std::int64_t k = 0; k < n_cols; ++k) {
    begin[k] = offset[columns[k]] + least[k], width[k] = most[k] - least[k], ended[k] = 0;
    widest = width[k] > widest ? width[k] : widest;
  }
  const std::uint32_t* __restrict const words = drawn.word;
  if (drawn.draws == TreeDraws::kSklearn)
    for (std::int64_t k = 0; k < n_cols; ++k)
      threshold[k] = sklearn_cut_value(low[begin[k]], high[begin[k] + width[k]], words[k]);
  else
    for (std::int64_t k = 0; k < n_cols; ++k)
      threshold[k] = random_cut_value(low[begin[k]], high[begin[k] + width[k]], words[k]);
  for (auto step = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(widest))); step > 0; step /= 2) {
    for (std::int64_t k = 0; k < n_cols; ++k) {
      const std::int32_t next = ended[k] + step, last = (next < width[k] ? next : width[k]) - 1;
      const double end = high[begin[k] + (last < 0 ? 0 : last)];
      ended[k] = next <= width[k] && end <= threshold[k] ? next : ended[k];
    }
  }
  for (std::int64_t k = 0; k < n_cols; ++k) places.left[k] = static_cast<std::uint8_t>(least[k] + ended[k] - (ended[k] > 0));
  places.any_varies = widest > 0;
}

KEDGE_CLONES void score_all(std::int64_t n_cols, const NodeSums& node, const std::int32_t* __restrict rows,
                            const std::int64_t* __restrict weights, const std::int64_t* __restrict sums,
                            double* __restrict scores) {
  const NodeSums all = node;
  for (std::int64_t k = 0; k < n_cols; ++k) {
    const auto l = static_cast<double>(weights[k]), r = static_cast<double>(all.weight - weights[k]);
    const auto sl = static_cast<double>(sums[k]), sr = static_cast<double>(all.sum - sums[k]);
    const auto nl = static_cast<double>(rows[k]), nr = static_cast<double>(all.rows - rows[k]);
    const double score = sl * sl / l + sr * sr / r;
    const bool is_heavy =
        (nl >= all.min_rows) & (nr >= all.min_rows) & (l > 0) & (r > 0) & (l >= all.min_weight) & (r >= all.min_weight);
    scores[k] = is_heavy ? score : kRefusedCut;
  }
}

KEDGE_CLONES void score_squares(std::int64_t n_cols, std::int32_t n_classes, const NodeSums& node, const std::int64_t* __restrict total,
                                const std::int32_t* __restrict rows, std::int64_t row_weight, const std::int64_t* __restrict weights,
                                double* __restrict scores) {
  constexpr std::int64_t kMost = CodeBlock::kMost;
  std::array<std::int64_t, kMost> left_rows{}, left{}, left_squares{}, right_squares{};
  const NodeSums all = node;
  for (std::int32_t c = 0; c < n_classes; ++c) {
    for (std::int64_t k = 0; k < n_cols; ++k) {
      const std::int64_t l = weights ? weights[c * kMost + k] : rows[c * kMost + k] * row_weight, r = total[c] - l;
      left_rows[k] += rows[c * kMost + k], left[k] += l, left_squares[k] += l * l, right_squares[k] += r * r;
    }
  }
  for (std::int64_t k = 0; k < n_cols; ++k) {
    const auto l = static_cast<double>(left[k]), r = static_cast<double>(all.weight - left[k]);
    const auto nl = static_cast<double>(left_rows[k]), nr = static_cast<double>(all.rows - left_rows[k]);
    const double score = gini_score(left_squares[k], left[k], right_squares[k], all.weight - left[k]);
    const bool is_heavy =
        (nl >= all.min_rows) & (nr >= all.min_rows) & (l > 0) & (r > 0) & (l >= all.min_weight) & (r >= all.min_weight);
    scores[k] = is_heavy ? score : kRefusedCut;
  }
}

KEDGE_CLONES std::int64_t first_greatest(const double* scores) {
  using FourDoubles [[gnu::vector_size(32)]] = double;
  FourDoubles best, next;
  FourSums where{0, 1, 2, 3}, place = where;
  load(scores, best);
  for (std::int64_t k = 4; k < CodeBlock::kMost; k += 4) {
    load(scores + k, next);
    const auto is_better = next > best;
    best = is_better ? next : best, where = is_better ? place + k : where;
  }
  int lane = 0;
  for (int l = 1; l < 4; ++l)
    if (best[l] > best[lane] || (best[l] == best[lane] && where[l] < where[lane])) lane = l;
  return where[lane];
}

template <class V>
[[gnu::always_inline]] inline void take_values(const V* __restrict from, const std::uint32_t* __restrict order, std::int64_t n,
                                               V* __restrict out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = from[order[i]];
}
KEDGE_CLONES void take_32(const std::int32_t* from, const std::uint32_t* order, std::int64_t n, std::int32_t* out) {
  take_values(from, order, n, out);
}
KEDGE_CLONES void take_64(const std::int64_t* from, const std::uint32_t* order, std::int64_t n, std::int64_t* out) {
  take_values(from, order, n, out);
}

constexpr std::int32_t kCompared = 16;   // numbers up to which comparing with each is faster than counting one by one

KEDGE_CLONES void compare_all(const std::int32_t* values, std::int64_t n, std::int32_t n_counts, std::int64_t* counts) {
  for (std::int32_t c = 0; c < n_counts; ++c) {
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) count += values[i] == c;
    counts[c] = count;
  }
}

#if defined(__x86_64__)
// One permutation picks up to 64 of a row's 64 or 128 bytes.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) void gather_rows(const std::uint8_t* row_codes,
                                                                                 std::int64_t stride, const std::uint32_t* rows,
                                                                                 std::int64_t n, const std::uint8_t* columns,
                                                                                 std::int64_t width, std::uint8_t* out) {
  const __m512i places = _mm512_loadu_si512(columns);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t* row = row_codes + rows[i] * stride;
    const __m512i low = _mm512_loadu_si512(row);
    const __m512i picked = stride == 64 ? _mm512_maskz_permutexvar_epi8(~__mmask64{0}, places, low)
                                        : _mm512_permutex2var_epi8(low, places, _mm512_loadu_si512(row + 64));
    _mm512_storeu_si512(out + i * width, picked);   // what is beyond the width, the next row overwrites
  }
}
// The cuts' bits of a row select what its value is added to, eight sums at a time.
template <int kWidth>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void sum_masked(const std::uint8_t* codes, std::int64_t n,
                                                                              const std::uint8_t* left_bin,
                                                                              const std::int64_t* value, std::int64_t* sums) {
  constexpr int kParts = kWidth / 8;
  constexpr __mmask64 kLanes = ~__mmask64{0} >> (64 - kWidth);
  const __m512i left = _mm512_maskz_loadu_epi8(kLanes, left_bin);
  __m512i parts[kParts];
  for (int p = 0; p < kParts; ++p) parts[p] = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < n; ++i) {
    const __mmask64 is_left = _mm512_cmple_epu8_mask(_mm512_maskz_loadu_epi8(kLanes, codes + i * kWidth), left);
    const __m512i v = _mm512_set1_epi64(value[i]);
    for (int p = 0; p < kParts; ++p) parts[p] = _mm512_mask_add_epi64(parts[p], static_cast<__mmask8>(is_left >> (8 * p)), parts[p], v);
  }
  for (int p = 0; p < kParts; ++p) _mm512_storeu_si512(sums + 8 * p, _mm512_add_epi64(_mm512_loadu_si512(sums + 8 * p), parts[p]));
}
void sum_masked(const std::uint8_t* codes, std::int64_t n, std::int64_t width, const std::uint8_t* left_bin,
                const std::int64_t* value, std::int64_t* sums) {
  if (width == 16) sum_masked<16>(codes, n, left_bin, value, sums);
  else if (width == 32) sum_masked<32>(codes, n, left_bin, value, sums);
  else sum_masked<64>(codes, n, left_bin, value, sums);
}
bool has_masks() { return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"); }
bool has_permutations() {
  return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#else
void gather_rows(const std::uint8_t*, std::int64_t, const std::uint32_t*, std::int64_t, const std::uint8_t*, std::int64_t,
                 std::uint8_t*) {}
bool has_permutations() {
  return false;
}
void sum_masked(const std::uint8_t*, std::int64_t, std::int64_t, const std::uint8_t*, const std::int64_t*, std::int64_t*) {}
bool has_masks() { return false; }
#endif

}   // namespace

void place_cuts(std::int64_t n_cols, const BinEdges& edges, const std::uint32_t* columns, const CutWords& words,
                CutPlaces& places) {
  place_all(n_cols, edges.offset.data(), edges.low.data(), edges.high.data(), columns, words, places);
}

void score_means(std::int64_t n_cols, const NodeSums& node, const std::int32_t* rows, const std::int64_t* weights,
                 const std::int64_t* sums, double* scores) {
  score_all(n_cols, node, rows, weights, sums, scores);
}

void score_shares(std::int64_t n_cols, std::int32_t n_classes, const NodeSums& node, const std::int64_t* total,
                  const std::int32_t* rows, std::int64_t row_weight, const std::int64_t* weights, double* scores) {
  score_squares(n_cols, n_classes, node, total, rows, row_weight, weights, scores);
}

std::int64_t first_best(std::int64_t n_cols, const std::array<double, CodeBlock::kMost>& scores) {
  if (n_cols <= 8) return std::max_element(scores.begin(), scores.begin() + n_cols) - scores.begin();
  std::array<double, CodeBlock::kMost> padded = scores;
  std::fill(padded.begin() + n_cols, padded.end(), kRefusedCut);
  return first_greatest(padded.data());
}

void take(const std::int32_t* from, const std::uint32_t* order, std::int64_t n, std::int32_t* out) { take_32(from, order, n, out); }
void take(const std::int64_t* from, const std::uint32_t* order, std::int64_t n, std::int64_t* out) { take_64(from, order, n, out); }

void count_values(const std::int32_t* values, std::int64_t n, std::int32_t n_counts, std::int64_t* counts) {
  if (n_counts <= kCompared) return compare_all(values, n, n_counts, counts);
  std::fill_n(counts, n_counts, 0);
  for (std::int64_t i = 0; i < n; ++i) ++counts[values[i]];
}

void CodeBlock::resize(std::uint32_t n_rows, std::int64_t n_cols) {
  n_ = n_rows, width_ = n_cols <= 16 ? 16 : n_cols <= 32 ? 32 : 64;
  codes_.resize(std::max(codes_.size(), static_cast<std::size_t>(n_ * width_ + kSlack)));
}

bool CodeBlock::can_gather(std::int64_t stride) {
  static const bool has = has_permutations();
  return has && (stride == 64 || stride == 128);
}

void CodeBlock::gather(const std::uint8_t* row_codes, std::int64_t stride, const std::uint32_t* rows, std::uint32_t n_rows,
                       const std::uint32_t* columns, std::int64_t n_cols) {
  resize(n_rows, n_cols);
  std::array<std::uint8_t, kMost> places{};
  std::copy_n(columns, n_cols, places.begin());
  gather_rows(row_codes, stride, rows, n_, places.data(), width_, codes_.data());
}

void CodeBlock::ranges(std::uint8_t* least, std::uint8_t* most) const {
  ranges_of(codes_.data(), n_, width_, least, most);
}

void CodeBlock::sum_left(const std::uint8_t* left_bin, const std::int64_t* value, const std::int32_t* group,
                         std::int64_t* sums) const {
  static const bool masks = has_masks();
  if (group) return sum_groups(codes_.data(), n_, width_, left_bin, value, group, sums);
  masks ? sum_masked(codes_.data(), n_, width_, left_bin, value, sums) : sum_left_of(codes_.data(), n_, width_, left_bin, value, sums);
}

void CodeBlock::count_left(const std::uint8_t* left_bin, const std::int32_t* group, std::int32_t n_groups, std::int32_t* counts) {
  tally_.resize(std::max(tally_.size(), static_cast<std::size_t>(n_groups) * kMost));
  count_left_of(codes_.data(), n_, width_, left_bin, group, n_groups, tally_.data(), counts);
}

}   // namespace kedge::engine
