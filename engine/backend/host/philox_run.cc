// philox() on arrays of blocks, which the compiler turns into vector code.
#include "engine/backend/host/philox_run.h"

#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

using Words = std::uint64_t[kPhiloxRun];   // 32 bits each, in 64 for their products

[[gnu::always_inline]] inline void philox_round(Words& c0, Words& c1, Words& c2, Words& c3, std::uint32_t k0, std::uint32_t k1) {
  for (int i = 0; i < kPhiloxRun; ++i) {
    const std::uint64_t p0 = 0xD2511F53u * (c0[i] & 0xffffffffu), p1 = 0xCD9E8D57u * (c2[i] & 0xffffffffu);
    c0[i] = (p1 >> 32) ^ c1[i] ^ k0, c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
    c1[i] = p1 & 0xffffffffu, c3[i] = p0 & 0xffffffffu;
  }
}

}   // namespace

KEDGE_CLONES void philox_run(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint32_t* words) {
  Words c0, c1, c2, c3;
  for (int i = 0; i < kPhiloxRun; ++i) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
    c0[i] = counter & 0xffffffffu, c1[i] = counter >> 32, c2[i] = stream & 0xffffffffu, c3[i] = stream >> 32;
  }
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) philox_round(c0, c1, c2, c3, k0, k1);
  for (int i = 0; i < kPhiloxRun; ++i) {
    words[4 * i] = static_cast<std::uint32_t>(c0[i]), words[4 * i + 1] = static_cast<std::uint32_t>(c1[i]);
    words[4 * i + 2] = static_cast<std::uint32_t>(c2[i]), words[4 * i + 3] = static_cast<std::uint32_t>(c3[i]);
  }
}

}   // namespace kedge::engine
