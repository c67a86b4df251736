// AVX-512 code that scores small nodes, all columns at once.
#include "engine/backend/cpu/wide/trees_wide_few.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <bit>

#include "engine/backend/cpu/wide/trees_wide_target.h"

namespace kedge::engine {
namespace {

KEDGE_WIDE_INLINE __m512i load(const void* from) { return _mm512_load_si512(from); }

KEDGE_WIDE_INLINE void sort_pair(WideRow (*rows)[32], std::uint32_t a, std::uint32_t b) {
  const __m512i x = load(rows[a]), y = load(rows[b]);
  _mm512_store_si512(rows[a], _mm512_min_epu16(x, y));
  _mm512_store_si512(rows[b], _mm512_max_epu16(x, y));
}

// Sorts every lane: Batcher's merge exchange (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M).
KEDGE_WIDE_INLINE void sort_lanes(WideRow (*rows)[32], std::uint32_t n) {
  const std::uint32_t top = std::bit_ceil(n) / 2;
  for (std::uint32_t p = top; p > 0; p /= 2) {
    std::uint32_t r = 0, d = p;
    for (std::uint32_t q = top;; q /= 2) {
      for (std::uint32_t block = r; block + d < n; block += 2 * p)
        for (std::uint32_t i = block; i < std::min(block + p, n - d); ++i) sort_pair(rows, i, i + d);
      if (q == p) break;
      d = q - p, r = p;
    }
  }
}

// The classes that a node has, and how many of each are left of the cut, by lane. At most kClasses of them, the others match no
// row.
template <int kClasses>
struct LeftCounts {
  __m512i left[kClasses], in_node[kClasses], cls[kClasses];

  KEDGE_WIDE_INLINE explicit LeftCounts(const NodeTotals& totals) {
    int n = 0;
    for (std::int32_t c = 0; c < totals.n_classes; ++c) {
      if (totals.counts[c] == 0) continue;
      cls[n] = _mm512_set1_epi16(static_cast<short>(c << 4)),
      in_node[n] = _mm512_set1_epi16(static_cast<short>(totals.counts[c]));
      left[n++] = _mm512_setzero_si512();
    }
    for (; n < kClasses; ++n) cls[n] = _mm512_set1_epi16(-1), in_node[n] = left[n] = _mm512_setzero_si512();
  }
};

// Sums both sides of the cuts behind every sorted row, all lanes at once, and lists those between two codes; returns how many.
template <int kClasses>
KEDGE_WIDE std::uint32_t list_cuts(FewRows& few, std::uint32_t n, __mmask32 lanes, const NodeTotals& totals) {
  alignas(64) static constexpr std::array<std::uint16_t, 32> kLane = [] {
    std::array<std::uint16_t, 32> at{};
    for (std::size_t i = 0; i < 32; ++i) at[i] = static_cast<std::uint16_t>(i << 8);
    return at;
  }();
  LeftCounts<kClasses> counts(totals);
  const __m512i node_squares = _mm512_set1_epi16(static_cast<short>(totals.squares));
  __m512i squares = _mm512_setzero_si512(), products = squares, cut = load(kLane.data()), next = load(few.sorted[0]);
  std::uint32_t n_cuts = 0;
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    const __m512i row = next, weight = _mm512_and_si512(row, _mm512_set1_epi16(15)),
                  cls = _mm512_and_si512(row, _mm512_set1_epi16(0xf0));
    next = load(few.sorted[i + 1]);
    __m512i before = _mm512_setzero_si512(), in_node = before;   // rows of the lane's class to the left, and in the node
    for (int c = 0; c < kClasses; ++c) {
      const __mmask32 same = _mm512_cmpeq_epi16_mask(cls, counts.cls[c]);
      before = _mm512_mask_mov_epi16(before, same, counts.left[c]);
      in_node = _mm512_mask_mov_epi16(in_node, same, counts.in_node[c]);
      counts.left[c] = _mm512_mask_add_epi16(counts.left[c], same, counts.left[c], weight);
    }
    const __m512i grown = _mm512_add_epi16(_mm512_add_epi16(before, before), weight);
    squares = _mm512_add_epi16(squares, _mm512_mullo_epi16(weight, grown));
    products = _mm512_add_epi16(products, _mm512_mullo_epi16(weight, in_node));
    cut = _mm512_add_epi16(cut, weight);
    const __mmask32 between = _mm512_mask_cmpge_epu16_mask(lanes, _mm512_xor_si512(row, next), _mm512_set1_epi16(256));
    const __m512i right_squares = _mm512_add_epi16(_mm512_sub_epi16(node_squares, _mm512_add_epi16(products, products)), squares);
    _mm512_storeu_si512(few.cut + n_cuts, _mm512_maskz_compress_epi16(between, cut));
    _mm512_storeu_si512(few.left_squares + n_cuts, _mm512_maskz_compress_epi16(between, squares));
    _mm512_storeu_si512(few.right_squares + n_cuts, _mm512_maskz_compress_epi16(between, right_squares));
    n_cuts += static_cast<std::uint32_t>(std::popcount(between));
  }
  return n_cuts;
}

KEDGE_WIDE std::uint32_t list_cuts(FewRows& few, std::uint32_t n, __mmask32 lanes, const NodeTotals& totals) {
  const auto present = totals.n_classes - std::count(totals.counts, totals.counts + totals.n_classes, 0);
  if (present <= 2) return list_cuts<2>(few, n, lanes, totals);
  if (present <= 3) return list_cuts<3>(few, n, lanes, totals);
  if (present <= 4) return list_cuts<4>(few, n, lanes, totals);
  if (present <= 6) return list_cuts<6>(few, n, lanes, totals);
  return list_cuts<16>(few, n, lanes, totals);
}

// Scores the cuts within kScoreError; returns the largest.
KEDGE_WIDE_INLINE float score_roughly(FewRows& few, std::uint32_t n_cuts, float drawn) {
  __m512 top = _mm512_set1_ps(-1);
  for (std::uint32_t i = 0; i < n_cuts; i += 16) {
    const auto part = [i](const std::uint16_t* from) KEDGE_WIDE {
      return _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
    };
    const __m512 left = _mm512_cvtepi32_ps(_mm512_and_si512(part(few.cut), _mm512_set1_epi32(255)));
    const __m512 left_part = _mm512_mul_ps(_mm512_cvtepi32_ps(part(few.left_squares)), _mm512_rcp14_ps(left));
    const __m512 right_rcp = _mm512_rcp14_ps(_mm512_sub_ps(_mm512_set1_ps(drawn), left));
    const auto valid = static_cast<__mmask16>(_bzhi_u32(0xffff, std::min(16u, n_cuts - i)));
    const __m512 rough = _mm512_mask_add_ps(_mm512_set1_ps(-1), valid, left_part,
                                            _mm512_mul_ps(_mm512_cvtepi32_ps(part(few.right_squares)), right_rcp));
    _mm512_store_ps(few.rough + i, rough);
    top = _mm512_max_ps(top, rough);
  }
  return _mm512_reduce_max_ps(top);
}

// The codes on both sides of a cut: the rows on its left have been drawn `left` times.
KEDGE_WIDE_INLINE void find_codes(const FewRows& few, int lane, int left, BestCut& best) {
  std::uint32_t i = 0;
  for (; left > (few.sorted[i][lane] & 15); ++i) left -= few.sorted[i][lane] & 15;
  best.left_bin = few.sorted[i][lane] >> 8, best.right_bin = few.sorted[i + 1][lane] >> 8;
}

// Takes the best cut if it beats `best`; among equals the lowest column's lowest. Rough scores leave only a few that could.
KEDGE_WIDE_INLINE void take_best(const FewRows& few, std::uint32_t n_cuts, float most, const std::uint32_t* features,
                                 std::int64_t drawn, BestCut& best) {
  if (most * (1 + kScoreError) < best.score) return;
  const __m512 least = _mm512_set1_ps(static_cast<float>(most * (1 - 2 * kScoreError)));
  double top = best.score;
  int top_cut = -1;
  for (std::uint32_t i = 0; i < n_cuts; i += 16) {
    auto near = static_cast<unsigned>(_mm512_cmp_ps_mask(_mm512_load_ps(few.rough + i), least, _CMP_GE_OQ));
    for (; near != 0; near &= near - 1) {
      const std::uint32_t at = i + static_cast<std::uint32_t>(std::countr_zero(near));
      const std::int64_t left = few.cut[at] & 255;
      const double score = gini_score(few.left_squares[at], left, few.right_squares[at], drawn - left);
      const bool better = score > top || (score == top && few.cut[at] < top_cut);
      top = better ? score : top, top_cut = better ? few.cut[at] : top_cut;
    }
  }
  if (top_cut < 0) return;
  best.score = top, best.feature = static_cast<std::int32_t>(features[top_cut >> 8]);
  find_codes(few, top_cut >> 8, top_cut & 255, best);
}

}   // namespace

KEDGE_WIDE bool score_few(FewRows& few, std::uint32_t n, const std::uint32_t* features, int n_features, bool stop_at_varying,
                          const NodeTotals& totals, BestCut& best) {
  for (std::uint32_t i = 0; i < n; ++i) _mm512_store_si512(few.sorted[i], load(few.row[i]));
  sort_lanes(few.sorted, n);
  const auto lanes = static_cast<__mmask32>((std::uint64_t{1} << n_features) - 1);
  __mmask32 varies =
      _mm512_mask_cmpge_epu16_mask(lanes, _mm512_xor_si512(load(few.sorted[0]), load(few.sorted[n - 1])), _mm512_set1_epi16(256));
  if (varies == 0) return false;
  if (stop_at_varying) varies &= -varies;
  const std::uint32_t n_cuts = list_cuts(few, n, varies, totals);
  take_best(few, n_cuts, score_roughly(few, n_cuts, static_cast<float>(totals.drawn)), features, totals.drawn, best);
  return true;
}

}   // namespace kedge::engine
#endif
