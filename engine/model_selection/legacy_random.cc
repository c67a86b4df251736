// MT19937 with the seeding, the bounded draw and the shuffle of numpy's RandomState.
#include "engine/model_selection/legacy_random.h"

#include <numeric>

namespace kedge::engine {

LegacyRandom::LegacyRandom(std::uint32_t seed) {
  for (std::size_t i = 0; i < kWords; ++i) {
    state_[i] = seed;
    seed = 1812433253u * (seed ^ (seed >> 30)) + static_cast<std::uint32_t>(i) + 1u;
  }
}

void LegacyRandom::refill() {
  constexpr std::size_t kShift = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
    state_[i] = state_[(i + kShift) % kWords] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
  }
  position_ = 0;
}

std::uint32_t LegacyRandom::next() {
  if (position_ == kWords) refill();
  std::uint32_t y = state_[position_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t LegacyRandom::interval(std::uint64_t max) {
  if (max == 0) return 0;
  std::uint64_t mask = max;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  std::uint64_t value;
  do {
    value = next();
    if (max > 0xffffffffu) value = value << 32 | next();   // high word first
    value &= mask;
  } while (value > max);
  return value;
}

std::vector<std::int64_t> LegacyRandom::permutation(std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  shuffle(std::span(values));
  return values;
}

}  // namespace kedge::engine
