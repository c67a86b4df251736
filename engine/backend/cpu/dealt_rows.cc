// Exact sums over ranks: two meetings, one for the largest magnitudes and one for the integers.
#include "engine/backend/cpu/dealt_rows.h"

#include <cstring>
#include <span>

namespace kedge::engine {
namespace {

constexpr std::int64_t kGathered = 4096;   // entries whose magnitudes go with the first meeting, which saves one

template <class T>
std::vector<std::byte> as_bytes(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

void raise(std::span<const std::byte> bytes, std::vector<std::int64_t>& largest) {
  for (std::size_t e = 0; e < largest.size(); ++e) {
    std::int64_t other;
    std::memcpy(&other, bytes.data() + e * sizeof other, sizeof other);
    largest[e] = std::max(largest[e], other);
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
    return is_gathered ? as_bytes(largest) : std::vector<std::byte>();
  });
  if (is_gathered)
    for (int r = 0; r < shares.size(); ++r) raise(shares.part(r), largest);
  else ranks->combine(largest, IntegerOp::kMax);
  limbs_of_tables(tables.data, tables.count, entries, largest.data(), limbs.data());
  ranks->combine(limbs, IntegerOp::kSum);
  round_tables(largest.data(), limbs.data(), entries, total);
}

}   // namespace kedge::engine
