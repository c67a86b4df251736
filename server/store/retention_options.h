// How long jobs and their events are kept.
#pragma once

#include <chrono>
#include <cstdint>

namespace kedge::server {

// Open jobs are never forgotten. 0: no bound.
struct RetentionOptions {
  std::chrono::seconds jobs{30 * 24 * 3600};    // after their end
  std::chrono::seconds events{7 * 24 * 3600};   // after their job's end; its last two, result and final state, stay with the job
  std::int64_t events_per_job = 100'000;        // the newest; older ones become a gap, also while the job runs
  std::int64_t store_bytes = std::int64_t{8} << 30;
  std::chrono::milliseconds interval{60'000};
};

}  // namespace kedge::server
