// What a check of a cluster has found, and how it is said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/worker/rank_identity.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

// Between rank 0 and another, by messages of MPI as jobs send them.
struct LineSpeed {
  double latency_s = 0;     // half the median round trip of 8 bytes
  double bytes_per_s = 0;   // of 16 MiB, from the median round trip
};

struct CheckedRank {
  RankIdentity identity;
  std::vector<schema::DeviceEntry> devices;
  std::string device = {};              // on which it would run jobs; empty: there is a problem
  std::int64_t processors = 0;          // that it may use
  std::int64_t free_memory = 0;         // bytes
  std::optional<LineSpeed> line = {};   // rank 0 has none
};

// An all-reduce of exact sums, each of three integers.
struct ReduceTime {
  std::int64_t sums = 0;
  double seconds = 0;   // of the slowest rank; median
  std::int64_t bytes() const { return sums * std::int64_t{3 * sizeof(std::int64_t)}; }
};

// What the ranks' GPUs do over NCCL: its release, or why it cannot be used.
struct NcclCheck {
  std::string library, missing;
  std::vector<ReduceTime> reduces;
};

struct ClusterReport {
  std::vector<CheckedRank> ranks;
  std::vector<ReduceTime> reduces;
  NcclCheck nccl;
  std::vector<std::string> problems;   // why jobs would not run, or not well
  std::vector<std::string> notes;
};

// What such an all-reduce would take over lines like the slowest measured one: 2 ceil(log2 ranks) latencies, and
// 2 (ranks - 1) / ranks times the bytes. 0 for one rank.
double reduce_over_lines(const ClusterReport& report, std::int64_t bytes);

// Adds what the ranks alone tell: which of them differ from the first, and machines with more ranks than processors.
void compare_ranks(ClusterReport& report);

std::string as_json(const ClusterReport& report);
std::string as_text(const ClusterReport& report);

}   // namespace kedge::engine
