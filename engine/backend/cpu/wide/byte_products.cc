// Products of bytes by AVX-512 VNNI.
#include "engine/backend/cpu/wide/byte_products.h"

#include "engine/backend/functors.h"

#if defined(__x86_64__)
#define KEDGE_BYTE_PRODUCTS 1
#include <immintrin.h>
#endif

namespace kedge::engine {

#ifdef KEDGE_BYTE_PRODUCTS
namespace {

#define KEDGE_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) inline

struct Four {   // times 16 points
  __m512i a, b, c, d;
};

// In assembly, because gcc 12 copies every sum before its intrinsic and after it.
KEDGE_VNNI void add_products(__m512i points, __m512i query, __m512i& sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(points), "v"(query));
}

KEDGE_VNNI void add_products(const Four& points, const std::int8_t* query, Four& sums) {
  std::int32_t word;
  __builtin_memcpy(&word, query, 4);
  const __m512i all = _mm512_set1_epi32(word);
  add_products(points.a, all, sums.a), add_products(points.b, all, sums.b);
  add_products(points.c, all, sums.c), add_products(points.d, all, sums.d);
}

KEDGE_VNNI std::uint64_t put_scores(__m512i sum, const std::int32_t* norms, __m512i limit, std::int32_t* scores) {
  const __m512i score = _mm512_sub_epi32(_mm512_loadu_si512(norms), _mm512_add_epi32(sum, sum));
  _mm512_storeu_si512(scores, score);
  return _mm512_cmple_epi32_mask(score, limit);
}

KEDGE_VNNI std::uint64_t put_scores(const Four& sums, const std::int32_t* norms, std::int32_t limit, std::int32_t* scores) {
  const __m512i most = _mm512_set1_epi32(limit);
  return put_scores(sums.a, norms, most, scores) | put_scores(sums.b, norms + 16, most, scores + 16) << 16 |
         put_scores(sums.c, norms + 32, most, scores + 32) << 32 | put_scores(sums.d, norms + 48, most, scores + 48) << 48;
}

// Of M queries with 64 points: scores[m][p] = norms[p] - 2 * (query m times point p); bit p of a hit: that is at most limits[m].
template <int M>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void score_block(const std::uint8_t* block, std::int64_t words,
                                                                        const std::int8_t* queries, const std::int32_t* norms,
                                                                        const std::int32_t* limits,
                                                                        std::int32_t (*scores)[kByteBlock], std::uint64_t* hits) {
  const __m512i zero = _mm512_setzero_si512();
  Four s0{zero, zero, zero, zero}, s1 = s0, s2 = s0, s3 = s0, s4 = s0,
                                   s5 = s0;   // one by one: an array would not stay in registers
  const std::int64_t row = 4 * words;
  for (std::int64_t w = 0; w < words; ++w, block += 4 * kByteBlock, queries += 4) {
    const Four points{_mm512_loadu_si512(block), _mm512_loadu_si512(block + 64), _mm512_loadu_si512(block + 128),
                      _mm512_loadu_si512(block + 192)};
    add_products(points, queries, s0);
    if constexpr (M > 1) add_products(points, queries + row, s1);
    if constexpr (M > 2) add_products(points, queries + 2 * row, s2);
    if constexpr (M > 3) add_products(points, queries + 3 * row, s3);
    if constexpr (M > 4) add_products(points, queries + 4 * row, s4);
    if constexpr (M > 5) add_products(points, queries + 5 * row, s5);
  }
  hits[0] = put_scores(s0, norms, limits[0], scores[0]);
  if constexpr (M > 1) hits[1] = put_scores(s1, norms, limits[1], scores[1]);
  if constexpr (M > 2) hits[2] = put_scores(s2, norms, limits[2], scores[2]);
  if constexpr (M > 3) hits[3] = put_scores(s3, norms, limits[3], scores[3]);
  if constexpr (M > 4) hits[4] = put_scores(s4, norms, limits[4], scores[4]);
  if constexpr (M > 5) hits[5] = put_scores(s5, norms, limits[5], scores[5]);
}

}   // namespace

bool has_byte_products() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

void score_rows(std::int64_t rows, const std::uint8_t* block, std::int64_t words, const std::int8_t* queries,
                const std::int32_t* norms, const std::int32_t* limits, std::int32_t (*scores)[kByteBlock], std::uint64_t* hits) {
  constexpr decltype(&score_block<1>) kForRows[] = {score_block<1>, score_block<2>, score_block<3>,
                                                    score_block<4>, score_block<5>, score_block<6>};
  kForRows[rows - 1](block, words, queries, norms, limits, scores, hits);
}

__attribute__((target("avx512f"))) std::uint64_t columns_within(const std::int32_t* scores, std::int32_t offset,
                                                                const std::int32_t* limits) {
  const __m512i add = _mm512_set1_epi32(offset);
  std::uint64_t within = 0;
  for (int part = 0; part < 4; ++part) {
    const __m512i distance = _mm512_add_epi32(_mm512_loadu_si512(scores + 16 * part), add);
    within |= std::uint64_t{_mm512_cmple_epi32_mask(distance, _mm512_loadu_si512(limits + 16 * part))} << 16 * part;
  }
  return within;
}

__attribute__((target("avx512f,avx512bw"))) double level_distance(const double* row, const std::int8_t* levels, std::int64_t d,
                                                                  double middle, double step, bool is_float) {
  static_assert(kLanes == 32);
  constexpr __mmask8 kAll = 0xff;   // gcc 12 warns of what the forms without a mask leave undefined
  const __m512d low = _mm512_set1_pd(middle), of_level = _mm512_set1_pd(step);
  __m512d sums[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
  std::int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    for (int part = 0; part < 4; ++part) {
      const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels + j + 8 * part));
      __m512d value = _mm512_fmadd_pd(of_level, _mm512_maskz_cvtepi32_pd(kAll, _mm256_cvtepi8_epi32(eight)), low);
      if (is_float) value = _mm512_maskz_cvtps_pd(kAll, _mm512_maskz_cvtpd_ps(kAll, value));
      const __m512d apart = _mm512_sub_pd(_mm512_loadu_pd(row + j + 8 * part), value);
      sums[part] = _mm512_add_pd(sums[part], _mm512_mul_pd(apart, apart));
    }
  }
  double lanes[kLanes];
  for (int part = 0; part < 4; ++part) _mm512_storeu_pd(lanes + 8 * part, sums[part]);
  for (int l = 0; j + l < d; ++l) {
    const double value = __builtin_fma(step, static_cast<double>(levels[j + l]), middle);
    lanes[l] += squared_difference(row[j + l], is_float ? static_cast<double>(static_cast<float>(value)) : value);
  }
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}
#else
double level_distance(const double*, const std::int8_t*, std::int64_t, double, double, bool) {
  return 0;
}
bool has_byte_products() {
  return false;
}
void score_rows(std::int64_t, const std::uint8_t*, std::int64_t, const std::int8_t*, const std::int32_t*, const std::int32_t*,
                std::int32_t (*)[kByteBlock], std::uint64_t*) {}
std::uint64_t columns_within(const std::int32_t*, std::int32_t, const std::int32_t*) {
  return 0;
}
#endif

}   // namespace kedge::engine
