// What is doing and waiting at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

namespace kedge::server {

struct Load {
  std::map<std::string_view, std::size_t> jobs;   // by state, those that have not ended
  std::size_t idle_workers = 0, busy_workers = 0, missing_devices = 0;
  double oldest_wait_seconds = 0;   // of the job that has waited longest for its data or a worker
  std::size_t store_backlog = 0;    // writes that wait
  std::uintmax_t cache_bytes = 0;   // of parsed data sets
  std::uintmax_t free_bytes = 0;    // that the data directory's file system still takes
};

}   // namespace kedge::server
