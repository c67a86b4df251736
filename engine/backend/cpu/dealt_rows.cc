// Exact sums over ranks of tables that each rank has made.
#include "engine/backend/cpu/dealt_rows.h"

#include "engine/comm/limb_meeting.h"

namespace kedge::engine {

void add_tables_of_ranks(Ranks* ranks, std::int64_t entries, const std::function<Tables()>& own, double* total) {
  if (!ranks) {
    const Tables tables = own();
    return add_tables(tables.data, tables.count, entries, total);
  }
  Tables tables{};
  std::vector<std::int64_t> largest(static_cast<std::size_t>(entries)), limbs(3 * largest.size());
  meet_for_largest(*ranks, largest, [&] {
    tables = own();
    largest_of_tables(tables.data, tables.count, entries, largest.data());
  });
  limbs_of_tables(tables.data, tables.count, entries, largest.data(), limbs.data());
  meet_for_limbs(*ranks, largest, limbs);
  round_tables(largest.data(), limbs.data(), entries, total);
}

}   // namespace kedge::engine
