// AVX-512 code that writes a row's record: 64 columns at a time.
#include "engine/backend/cpu/wide/trees_wide_record.h"

#if defined(__x86_64__)
#include <bit>

#include "engine/backend/cpu/wide/trees_wide_target.h"

namespace kedge::engine {

KEDGE_WIDE void write_record_wide(const RecordLayout& layout, std::int64_t n_cols, const std::uint8_t* codes,
                                  const std::uint8_t* common, std::uint64_t* out) {
  static_assert(RecordLayout::kGroup == 256 && RecordLayout::kBlock == 16);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out);
  std::uint8_t* const first = bytes + layout.codes;
  std::uint8_t *next = first, *group = first;
  for (std::int64_t w = 0; w < layout.words; ++w) {
    if (w % 4 == 0) {
      group = next;
      const auto start = static_cast<std::uint16_t>(group - first);
      __builtin_memcpy(bytes + layout.starts + w / 4 * 2, &start, sizeof start);
    }
    const __m512i code = _mm512_loadu_si512(codes + w * 64);
    const std::uint64_t valid =
        n_cols - w * 64 >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (n_cols - w * 64)) - 1;
    const std::uint64_t uncommon = _mm512_cmpneq_epi8_mask(code, _mm512_loadu_si512(common + w * 64)) & valid;
    out[w] = uncommon;
    for (int block = 0; block < 4; ++block) {
      const std::uint64_t before = uncommon & ((std::uint64_t{1} << (block * 16)) - 1);
      bytes[layout.ranks + w * 4 + block] = static_cast<std::uint8_t>(next - group + std::popcount(before));
    }
    _mm512_storeu_si512(next, _mm512_maskz_compress_epi8(uncommon, code));
    next += std::popcount(uncommon);
  }
}

}  // namespace kedge::engine

#else

namespace kedge::engine {

void write_record_wide(const RecordLayout&, std::int64_t, const std::uint8_t*, const std::uint8_t*,
                       std::uint64_t*) {}

}  // namespace kedge::engine

#endif
