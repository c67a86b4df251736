// The loops over a block of codes; each is a few vector instructions a row.
#include "engine/backend/host/random_scan.h"

#include "engine/backend/cpu/simd.h"

namespace kedge::engine {
namespace {

KEDGE_CLONES void ranges_of(const std::uint8_t* __restrict codes, std::int64_t n, std::int64_t stride, std::uint8_t* __restrict least,
                            std::uint8_t* __restrict most) {
  for (std::int64_t k = 0; k < stride; ++k) least[k] = 255, most[k] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t* row = codes + i * stride;
    for (std::int64_t k = 0; k < stride; ++k) {
      least[k] = row[k] < least[k] ? row[k] : least[k];
      most[k] = row[k] > most[k] ? row[k] : most[k];
    }
  }
}

KEDGE_CLONES void sum_left_of(const std::uint8_t* __restrict codes, std::int64_t n, std::int64_t stride, const std::uint8_t* __restrict left_bin,
                              const std::int64_t* __restrict value, const std::int32_t* __restrict group, std::int64_t* __restrict sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t* row = codes + i * stride;
    std::int64_t* out = sums + (group ? group[i] * CodeBlock::kMost : 0);
    const std::int64_t v = value[i];
    for (std::int64_t k = 0; k < stride; ++k) out[k] += row[k] <= left_bin[k] ? v : 0;
  }
}

KEDGE_CLONES void count_left_of(const std::uint8_t* __restrict codes, std::int64_t n, std::int64_t stride, const std::uint8_t* __restrict left_bin,
                                std::int32_t* __restrict counts) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t* row = codes + i * stride;
    for (std::int64_t k = 0; k < stride; ++k) counts[k] += row[k] <= left_bin[k] ? 1 : 0;
  }
}

}  // namespace

void CodeBlock::ranges(std::uint8_t* least, std::uint8_t* most) const { ranges_of(codes_.data(), n_, stride_, least, most); }

void CodeBlock::sum_left(const std::uint8_t* left_bin, const std::int64_t* value, const std::int32_t* group, std::int64_t* sums) const {
  sum_left_of(codes_.data(), n_, stride_, left_bin, value, group, sums);
}

void CodeBlock::count_left(const std::uint8_t* left_bin, std::int32_t* counts) const {
  count_left_of(codes_.data(), n_, stride_, left_bin, counts);
}

}  // namespace kedge::engine
