// MT19937 with the seeding, the bounded draw and the shuffle of numpy's RandomState.
#include "engine/core/legacy_random.h"

#include <algorithm>
#include <numeric>

#include "engine/core/stop.h"

namespace kedge::engine {

LegacyRandom::LegacyRandom(std::uint32_t seed) {
  for (std::size_t i = 0; i < kWords; ++i) {
    state_[i] = seed;
    seed = 1812433253u * (seed ^ (seed >> 30)) + static_cast<std::uint32_t>(i) + 1u;
  }
}

void LegacyRandom::refill() {
  check_job_stop();   // between the hundreds of draws of a long shuffle
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

double LegacyRandom::uniform() {
  const std::uint32_t high = next() >> 5, low = next() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

// As numpy does it: draws all that are still wanted, keeps the first of each, forgets their weights, draws again.
std::vector<std::int64_t> LegacyRandom::choice_without_replacement(std::vector<double> p, std::int64_t size) {
  std::vector<std::int64_t> found;
  while (static_cast<std::int64_t>(found.size()) < size) {
    std::vector<double> draws(static_cast<std::size_t>(size) - found.size());
    for (double& draw : draws) draw = uniform();
    for (const std::int64_t i : found) p[static_cast<std::size_t>(i)] = 0;
    const CumulatedWeights cumulated(p);
    for (const double draw : draws) {
      const std::int64_t i = cumulated.at(draw);
      if (std::find(found.begin(), found.end(), i) == found.end()) found.push_back(i);
    }
  }
  return found;
}

std::vector<std::int64_t> LegacyRandom::permutation(std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  shuffle(std::span(values));
  return values;
}

CumulatedWeights::CumulatedWeights(std::span<const double> weights) : shares_(weights.size()) {
  std::partial_sum(weights.begin(), weights.end(), shares_.begin());
  const double total = shares_.back();
  for (double& share : shares_) share /= total;
}

std::int64_t CumulatedWeights::at(double draw) const {
  const auto found = std::upper_bound(shares_.begin(), shares_.end(), draw);
  return std::min<std::int64_t>(found - shares_.begin(), static_cast<std::int64_t>(shares_.size()) - 1);
}

}  // namespace kedge::engine
