// Philox4x32-10, a counter-based generator: the same numbers on every device and thread count.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

struct PhiloxBlock {
  std::uint32_t word[4];
};

// The 128 random bits at `counter` of the stream named by `seed` and `stream`.
KEDGE_HD inline PhiloxBlock philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1), c3 = static_cast<std::uint32_t>(p0), c0 = n0, c2 = n2;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Sequential draws from one Philox stream.
class PhiloxStream {
 public:
  KEDGE_HD PhiloxStream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  KEDGE_HD std::uint32_t next() {
    if (used_ == 4) block_ = philox(seed_, stream_, counter_++), used_ = 0;
    return block_.word[used_++];
  }
  // Uniform in [0, bound), bound >= 1; multiply-shift with rejection, so exactly uniform (Lemire 2019).
  KEDGE_HD std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0u - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next()} * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
  // Uniform in [0, 1) with 53 bits.
  KEDGE_HD double uniform() {
    const std::uint64_t high = next(), low = next();
    return static_cast<double>(((high << 32) | low) >> 11) * 0x1.0p-53;
  }

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace kedge::engine
