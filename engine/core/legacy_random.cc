// MT19937 with the seeding, the bounded draw and the shuffle of numpy's RandomState.
#include "engine/core/legacy_random.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

// Adding a number to a sum rounds to the units of the sum's power of two. Within it all steps are alike: a tie goes to
// even, and so do all after it. Only the step before may differ, where a sum is odd and the next ones are ties.
EqualWeights::EqualWeights(std::int64_t n) : n_(n) {
  const double share = 1.0 / static_cast<double>(n);
  lines_.push_back({0, share, 0});
  double last = share;   // the sum at the position before
  for (std::int64_t position = 1; position < n; ++position) {
    const double first = last + share, second = first + share, step = second - first;
    int exponent = 0;
    std::frexp(first, &exponent);
    const double end = std::ldexp(1.0, exponent);   // the next power of two
    const bool is_line = (second + share) - second == step;
    const auto steps = is_line ? static_cast<std::int64_t>((end - first) / step) : 1;
    const std::int64_t more = std::clamp<std::int64_t>(steps - 1, 0, n - 1 - position);
    lines_.push_back({position, first, step});
    last = first + static_cast<double>(more) * step;
    position += more;
  }
  total_ = sum(n - 1);
}

double EqualWeights::sum(std::int64_t position) const {
  const auto after = std::ranges::upper_bound(lines_, position, {}, &Line::begin);
  const Line& line = *std::prev(after);
  return line.first + static_cast<double>(position - line.begin) * line.step;
}

std::int64_t EqualWeights::at(double draw) const {
  std::int64_t first = 0, count = n_;
  while (count > 0) {   // the first whose share exceeds the draw
    const std::int64_t half = count / 2;
    if (sum(first + half) / total_ > draw) count = half;
    else first += half + 1, count -= half + 1;
  }
  return std::min(first, n_ - 1);
}

}  // namespace kedge::engine
