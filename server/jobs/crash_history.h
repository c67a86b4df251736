// Which descriptions of jobs have killed workers lately: one that does so again and again is not run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/jobs/active_job.h"

namespace kedge::server {

// Counts the jobs of each tenant and description that failed because their workers died. Not thread safe.
class CrashHistory {
 public:
  static constexpr std::int64_t kMost = 3;   // jobs that may fail so before the next is not run

  CrashHistory() = default;
  explicit CrashHistory(std::map<std::string, std::int64_t> counts)
      : counts_(std::move(counts)) {}   // as Store::crashes_since() has them

  std::int64_t count(const ActiveJob& job) const {
    const auto found = counts_.find(key(job));
    return found == counts_.end() ? 0 : found->second;
  }
  void add(const ActiveJob& job) { ++counts_[key(job)]; }
  void forget(const ActiveJob& job) { counts_.erase(key(job)); }   // a job of this description has run to its end

 private:
  static std::string key(const ActiveJob& job) { return job.tenant + "\n" + job.digest; }

  std::map<std::string, std::int64_t> counts_;
};

}   // namespace kedge::server
