// Counting and packing scores by AVX-512.
#include "engine/backend/cpu/neighbours/score_selection.h"

#include <algorithm>
#include <bit>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kedge::engine {

#if defined(__x86_64__)
namespace {

#define KEDGE_AVX512 __attribute__((target("avx512f,popcnt"), always_inline)) inline

constexpr std::int64_t kWidth = 16;

// Of what is left behind whole vectors.
KEDGE_AVX512 __mmask16 first_lanes(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }

KEDGE_AVX512 std::int64_t count_below(const std::int32_t* scores, std::int64_t n, __m512i cut) {
  std::int64_t count = 0, i = 0;
  for (; i + kWidth <= n; i += kWidth) count += _mm_popcnt_u32(_mm512_cmplt_epi32_mask(_mm512_loadu_si512(scores + i), cut));
  const __mmask16 rest = first_lanes(n - i);
  return count + _mm_popcnt_u32(_mm512_mask_cmplt_epi32_mask(rest, _mm512_maskz_loadu_epi32(rest, scores + i), cut));
}

KEDGE_AVX512 void find_range(const std::int32_t* scores, std::int64_t n, std::int64_t& low, std::int64_t& high) {
  __m512i least = _mm512_set1_epi32(scores[0]), most = least;
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const __mmask16 there = first_lanes(std::min(kWidth, n - i));
    const __m512i score = _mm512_mask_loadu_epi32(least, there, scores + i);
    least = _mm512_mask_min_epi32(least, there, least, score), most = _mm512_mask_max_epi32(most, there, most, score);
  }
  std::int32_t lows[kWidth], highs[kWidth];
  _mm512_storeu_si512(lows, least), _mm512_storeu_si512(highs, most);
  low = *std::min_element(lows, lows + kWidth), high = *std::max_element(highs, highs + kWidth);
}

// Puts the lanes of `kept` side by side into the first `lanes` places from `to`.
KEDGE_AVX512 void pack(std::int32_t* to, __mmask16 lanes, __mmask16 kept, __m512i values) {
  _mm512_mask_storeu_epi32(to, lanes, _mm512_maskz_compress_epi32(kept, values));
}

}   // namespace

// The largest number with fewer than k scores below it, from its highest bit above the least score on: no branch depends on the scores.
__attribute__((target("avx512f,popcnt"))) std::int32_t kth_score(const std::int32_t* scores, std::int64_t n, std::int64_t k) {
  std::int64_t low = 0, high = 0, above = 0;
  find_range(scores, n, low, high);
  for (int bit = std::bit_width(static_cast<std::uint64_t>(high - low)); bit-- > 0;) {
    const std::int64_t tried = above | std::int64_t{1} << bit;
    const auto cut = static_cast<std::int32_t>(std::min<std::int64_t>(low + tried, std::numeric_limits<std::int32_t>::max()));
    above = count_below(scores, n, _mm512_set1_epi32(cut)) < k ? tried : above;
  }
  return static_cast<std::int32_t>(low + above);
}

// In place: what is written is never ahead of what was read.
__attribute__((target("avx512f,popcnt"))) std::int64_t keep_near(std::int32_t* scores, std::int32_t* points, std::int64_t n,
                                                                 std::int32_t limit) {
  const __m512i most = _mm512_set1_epi32(limit);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const __mmask16 there = first_lanes(std::min(kWidth, n - i));
    const __m512i score = _mm512_maskz_loadu_epi32(there, scores + i), point = _mm512_maskz_loadu_epi32(there, points + i);
    const __mmask16 near = _mm512_mask_cmple_epi32_mask(there, score, most);
    const auto count = static_cast<std::int64_t>(_mm_popcnt_u32(near));
    pack(scores + kept, first_lanes(count), near, score), pack(points + kept, first_lanes(count), near, point);
    kept += count;
  }
  return kept;
}
#else
std::int32_t kth_score(const std::int32_t*, std::int64_t, std::int64_t) { return 0; }
std::int64_t keep_near(std::int32_t*, std::int32_t*, std::int64_t, std::int32_t) { return 0; }
#endif

}   // namespace kedge::engine
