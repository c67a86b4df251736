// Exact sums over ranks: two meetings, one for the largest magnitudes and one for the integers.
#include "engine/backend/cpu/dealt_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace kedge::engine {
namespace {

constexpr std::int64_t kGathered = 16384;   // entries whose magnitudes go with the first meeting, which saves one
constexpr int kMantissaBits = 52;

// Of a magnitude a sum needs the exponent alone (sum_exponent(), ExactSum::is_finite()), 2 bytes of 8. 0: the number is
// 0; what is less than the least normal number counts as that one.
using Exponent = std::uint16_t;

std::vector<std::byte> exponents_of(const std::vector<std::int64_t>& magnitudes) {
  std::vector<Exponent> exponents;
  for (const std::int64_t magnitude : magnitudes) {
    const auto exponent = static_cast<Exponent>(magnitude >> kMantissaBits);
    exponents.push_back(magnitude != 0 ? std::max(exponent, Exponent{1}) : exponent);
  }
  const auto bytes = std::as_bytes(std::span(exponents));
  return {bytes.begin(), bytes.end()};
}

void raise(std::span<const std::byte> exponents, std::vector<std::int64_t>& largest) {
  for (std::size_t e = 0; e < largest.size(); ++e) {
    Exponent other;
    std::memcpy(&other, exponents.data() + e * sizeof other, sizeof other);
    largest[e] = std::max(largest[e], std::int64_t{other} << kMantissaBits);
  }
}

// Adds the integers of all ranks. Those of entries that are 0 everywhere, such as what lies above the diagonal of a
// Gram matrix, stay at home. In place, because between two meetings no rank may fail.
void add_limbs_of_ranks(Ranks& ranks, const std::vector<std::int64_t>& largest, std::vector<std::int64_t>& limbs) {
  const auto limbs_of = [&](std::size_t e) { return limbs.begin() + static_cast<std::ptrdiff_t>(3 * e); };
  std::size_t n = 0;
  for (std::size_t e = 0; e < largest.size(); ++e)
    if (largest[e] != 0) std::copy_n(limbs_of(e), 3, limbs_of(n++));
  ranks.combine(std::span(limbs).first(3 * n), IntegerOp::kSum);
  for (std::size_t e = largest.size(); e-- > 0;) {
    if (largest[e] != 0) std::copy_n(limbs_of(--n), 3, limbs_of(e));
    else std::fill_n(limbs_of(e), 3, 0);
  }
}

}   // namespace

void add_tables_of_ranks(Ranks* ranks, std::int64_t entries, const std::function<Tables()>& own, double* total) {
  if (!ranks) {
    const Tables tables = own();
    return add_tables(tables.data, tables.count, entries, total);
  }
  Tables tables{};
  std::vector<std::int64_t> largest(static_cast<std::size_t>(entries)), limbs(3 * largest.size());
  const bool is_gathered = entries <= kGathered;
  const PartedBytes shares = ranks->share([&]() -> std::vector<std::byte> {
    tables = own();
    largest_of_tables(tables.data, tables.count, entries, largest.data());
    return is_gathered ? exponents_of(largest) : std::vector<std::byte>();
  });
  if (is_gathered)
    for (int r = 0; r < shares.size(); ++r) raise(shares.part(r), largest);
  else ranks->combine(largest, IntegerOp::kMax);
  limbs_of_tables(tables.data, tables.count, entries, largest.data(), limbs.data());
  add_limbs_of_ranks(*ranks, largest, limbs);
  round_tables(largest.data(), limbs.data(), entries, total);
}

}   // namespace kedge::engine
