// AVX-512 code that scores the cuts of a column from class counts by bin.
#include "engine/backend/cpu/wide/trees_wide_bins.h"

#if defined(__x86_64__)
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/backend/cpu/wide/trees_wide_target.h"

namespace kedge::engine {
namespace {

KEDGE_WIDE_INLINE __m512i byte_iota() {
  alignas(64) std::uint8_t values[64];
  for (int i = 0; i < 64; ++i) values[i] = static_cast<std::uint8_t>(i);
  return _mm512_load_si512(values);
}

KEDGE_WIDE_INLINE __m256i lanes_of(const BinCounts& counts, int bin) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(counts.lanes[bin]));
}
KEDGE_WIDE_INLINE void set_lanes(BinCounts& counts, int bin, __m256i v) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts.lanes[bin]), v);
}

// Lists the bins in use and forgets them; returns how many there are.
KEDGE_WIDE_INLINE int take_bins(BinCounts& counts) {
  const __m512i iota = byte_iota();
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

// Vector k gets pair k of lanes of all four, in each half: sums over lanes are then sums over vectors.
KEDGE_WIDE_INLINE void transpose_four(__m256i* v) {
  const __m256i low01 = _mm256_unpacklo_epi32(v[0], v[1]), high01 = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(v[2], v[3]), high23 = _mm256_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm256_unpacklo_epi64(low01, low23), v[1] = _mm256_unpackhi_epi64(low01, low23);
  v[2] = _mm256_unpacklo_epi64(high01, high23), v[3] = _mm256_unpackhi_epi64(high01, high23);
}

// Products of four turned vectors, summed; a pointer that does not move repeats its vector.
KEDGE_WIDE_INLINE void store_products(std::uint32_t* to, const __m256i* a, const __m256i* b, int b_step = 1) {
  __m256i sum = _mm256_madd_epi16(a[0], b[0]);
  for (int k = 1; k < 4; ++k) sum = _mm256_dpwssd_epi32(sum, a[k], b[k * b_step]);
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
}

// Cuts on one side of the common bin, from the outermost on: cut i has bins[first], bins[first + step] ... bins[first + i step]
// on its outer side. Their sums begin at `at`, a multiple of 16.
struct Cuts {
  int n, first, step, at;
  int low(int i) const { return step > 0 ? first + i : first - i - 1; }   // the bin below the cut, as an index of `bins`
};

// Sums both sides of the cuts and clears the counts of their outer bins.
KEDGE_WIDE_INLINE void sum_sides(BinCounts& counts, const Cuts& cuts, __m256i node) {
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i node_pairs[4] = {_mm256_shuffle_epi32(node, 0x00), _mm256_shuffle_epi32(node, 0x55), _mm256_shuffle_epi32(node, 0xaa),
                                 _mm256_shuffle_epi32(node, 0xff)};
  __m256i so_far = _mm256_setzero_si256();
  for (int i = 0; i < cuts.n; i += 4) {
    __m256i outer[4], inner[4];
    for (int k = 0; k < 4; ++k) {
      const int bin = i + k < cuts.n ? counts.bins[cuts.first + (i + k) * cuts.step] : 256;
      so_far = outer[k] = _mm256_add_epi16(so_far, lanes_of(counts, bin));
      set_lanes(counts, bin, _mm256_setzero_si256());
    }
    transpose_four(outer);
    for (int k = 0; k < 4; ++k) inner[k] = _mm256_sub_epi16(node_pairs[k], outer[k]);
    store_products(counts.outer_squares + cuts.at + i, outer, outer);
    store_products(counts.inner_squares + cuts.at + i, inner, inner);
    store_products(counts.outer + cuts.at + i, outer, &ones, 0);
  }
}

// Scores the cuts within kScoreError; returns the largest of them and `top`.
KEDGE_WIDE_INLINE __m512 score_roughly(BinCounts& counts, const Cuts& cuts, float drawn, __m512 top) {
  for (int i = 0; i < cuts.n; i += 16) {
    const auto load = [at = cuts.at + i](const std::uint32_t* from)
                          KEDGE_WIDE { return _mm512_cvtepu32_ps(_mm512_load_si512(from + at)); };
    const auto valid = static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(cuts.n - i > 16 ? 16 : cuts.n - i)));
    const __m512 outer = load(counts.outer), inner = _mm512_sub_ps(_mm512_set1_ps(drawn), outer);
    const __m512 outer_part = _mm512_mul_ps(load(counts.outer_squares), _mm512_rcp14_ps(outer));
    const __m512 inner_part = _mm512_mul_ps(load(counts.inner_squares), _mm512_rcp14_ps(inner));
    const __m512 rough = _mm512_mask_add_ps(_mm512_set1_ps(-1), valid, outer_part, inner_part);
    _mm512_store_ps(counts.rough + cuts.at + i, rough);
    top = _mm512_max_ps(top, rough);
  }
  return top;
}

KEDGE_WIDE_INLINE __m256i node_lanes(const NodeTotals& totals) {
  return _mm512_cvtepi32_epi16(_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << totals.n_classes) - 1), totals.counts));
}

// Takes the best of the cuts whose rough score is at least `least` if it beats the score; among equals the lowest. `low` is where
// its lower bin is, -1 before any was taken.
KEDGE_WIDE_INLINE void take_best(const BinCounts& counts, const Cuts& cuts, float least, std::int64_t drawn, double& score,
                                 int& low) {
  for (int i = 0; i < cuts.n; i += 16) {
    auto near =
        static_cast<unsigned>(_mm512_cmp_ps_mask(_mm512_load_ps(counts.rough + cuts.at + i), _mm512_set1_ps(least), _CMP_GE_OQ));
    for (; near != 0; near &= near - 1) {
      const int cut = i + std::countr_zero(near), at = cuts.at + cut;
      const double its =
          gini_score(counts.outer_squares[at], counts.outer[at], counts.inner_squares[at], drawn - counts.outer[at]);
      if (its > score || (its == score && cuts.low(cut) < low)) score = its, low = cuts.low(cut);
    }
  }
}

// Scores the cuts between n >= 1 counted bins, of which bins[common] may still be without counts, and clears them: rough scores
// leave only a few cuts that could be better than `best`.
KEDGE_WIDE_INLINE bool score_listed(BinCounts& counts, int n, int common, const NodeTotals& totals, BestCut& best) {
  const __m256i node = node_lanes(totals);
  const Cuts below{common, 0, 1, 0}, above{n - 1 - common, n - 1, -1, (common + 15) / 16 * 16};
  sum_sides(counts, below, node);
  sum_sides(counts, above, node);
  set_lanes(counts, counts.bins[common], _mm256_setzero_si256());
  if (n < 2) return false;
  const auto drawn = static_cast<float>(totals.drawn);
  const float top =
      _mm512_reduce_max_ps(score_roughly(counts, above, drawn, score_roughly(counts, below, drawn, _mm512_set1_ps(-1))));
  if (top * (1 + kScoreError) < best.score) return true;
  const auto least = static_cast<float>(top * (1 - 2 * kScoreError));
  double score = best.score;
  int low = -1;
  take_best(counts, below, least, totals.drawn, score, low);
  take_best(counts, above, least, totals.drawn, score, low);
  if (low >= 0) best.score = score, best.left_bin = counts.bins[low], best.right_bin = counts.bins[low + 1];
  return true;
}

}   // namespace

KEDGE_WIDE void count_rows(const WideRow* rows, std::uint32_t n, std::int32_t common, BinCounts& counts) {
  std::uint16_t* lanes = counts.lanes[0];
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t row = rows[i];
    lanes[row >> 4] = static_cast<std::uint16_t>(lanes[row >> 4] + (row & 15));
    counts.used[row >> 8] = 1;
  }
  if (common != kNoCommonBin) counts.used[common] = 1;
}

KEDGE_WIDE bool score_bins(std::int32_t common, const NodeTotals& totals, BinCounts& counts, BestCut& best) {
  const int n = take_bins(counts);
  const std::uint8_t* bins = counts.bins;
  return score_listed(counts, n,
                      common == kNoCommonBin ? n - 1 : static_cast<int>(std::lower_bound(bins, bins + n, common) - bins), totals,
                      best);
}

void clear(BinCounts& counts) {
  std::memset(counts.lanes, 0, sizeof counts.lanes);
  std::memset(counts.used, 0, sizeof counts.used);
}

KEDGE_WIDE void count_columns(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes, BinCounts* counts) {
  for (int k = 0; k < 4; ++k) std::memset(counts[k].lanes, 0, sizeof counts[k].lanes);   // some may have been left unscored
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

KEDGE_WIDE bool score_counted(const NodeTotals& totals, BinCounts& counts, BestCut& best) {
  const int n = find_bins(counts);
  return score_listed(counts, n, n - 1, totals, best);
}

}   // namespace kedge::engine
#endif
