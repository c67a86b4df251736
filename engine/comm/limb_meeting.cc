// Exact sums over ranks: see limb_meeting.h.
#include "engine/comm/limb_meeting.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace kedge::engine {
namespace {

constexpr std::size_t kGathered = 16384;       // entries whose magnitudes go with the first meeting, which saves one
constexpr std::size_t kGatheredLimbs = 8192;   // integers of all ranks that go with the second, for the same reason
constexpr int kMantissaBits = 52;

// Of a magnitude a sum needs the exponent alone (sum_exponent(), ExactSum::is_finite()), 2 bytes of 8. 0: the number is
// 0; what is less than the least normal number counts as that one.
using Exponent = std::uint16_t;

std::vector<std::byte> exponents_of(std::span<const std::int64_t> magnitudes) {
  std::vector<Exponent> exponents;
  for (const std::int64_t magnitude : magnitudes) {
    const auto exponent = static_cast<Exponent>(magnitude >> kMantissaBits);
    exponents.push_back(magnitude != 0 ? std::max(exponent, Exponent{1}) : exponent);
  }
  const auto bytes = std::as_bytes(std::span(exponents));
  return {bytes.begin(), bytes.end()};
}

void raise(std::span<const std::byte> exponents, std::span<std::int64_t> largest) {
  for (std::size_t e = 0; e < largest.size(); ++e) {
    Exponent other;
    std::memcpy(&other, exponents.data() + e * sizeof other, sizeof other);
    largest[e] = std::max(largest[e], std::int64_t{other} << kMantissaBits);
  }
}

}   // namespace

void meet_for_largest(Ranks& ranks, std::span<std::int64_t> largest, const std::function<void()>& make) {
  const bool is_gathered = largest.size() <= kGathered;
  const PartedBytes shares = ranks.share([&]() -> std::vector<std::byte> {
    make();
    return is_gathered ? exponents_of(largest) : std::vector<std::byte>();
  });
  if (is_gathered)
    for (int r = 0; r < shares.size(); ++r) raise(shares.part(r), largest);
  else ranks.combine(largest, IntegerOp::kMax);
}

void meet_for_limbs(Ranks& ranks, std::span<const std::int64_t> largest, std::span<std::int64_t> limbs) {
  const auto limbs_of = [&](std::size_t e) { return limbs.begin() + static_cast<std::ptrdiff_t>(3 * e); };
  std::size_t n = 0;
  for (std::size_t e = 0; e < largest.size(); ++e)
    if (largest[e] != 0) std::copy_n(limbs_of(e), 3, limbs_of(n++));
  ranks.combine(limbs.first(3 * n), IntegerOp::kSum);
  for (std::size_t e = largest.size(); e-- > 0;) {
    if (largest[e] != 0) std::copy_n(limbs_of(--n), 3, limbs_of(e));
    else std::fill_n(limbs_of(e), 3, 0);
  }
}

void meet_for_limbs(Ranks& ranks, std::span<const std::int64_t> largest, std::span<std::int64_t> limbs,
                    const std::function<void()>& cut) {
  const bool is_gathered = limbs.size() * static_cast<std::size_t>(ranks.size()) <= kGatheredLimbs;
  const PartedBytes shares = ranks.share([&]() -> std::vector<std::byte> {
    cut();
    const auto bytes = std::as_bytes(limbs);
    return is_gathered ? std::vector<std::byte>(bytes.begin(), bytes.end()) : std::vector<std::byte>();
  });
  if (!is_gathered) return meet_for_limbs(ranks, largest, limbs);
  std::ranges::fill(limbs, 0);
  for (int r = 0; r < shares.size(); ++r)
    for (std::size_t i = 0; i < limbs.size(); ++i) {
      std::int64_t other;
      std::memcpy(&other, shares.part(r).data() + i * sizeof other, sizeof other);
      limbs[i] += other;
    }
}

}   // namespace kedge::engine
