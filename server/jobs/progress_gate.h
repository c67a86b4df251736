// Decides which progress events of a job are worth storing.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "schemas/event.h"

namespace kedge::server {

// At most ten a second for each phase, and always the one that completes it. Not thread safe.
class ProgressGate {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};

  bool passes(const schema::ProgressEvent& event, Clock::time_point now) {
    auto [entry, is_new] = last_.try_emplace(event.phase, now);
    const bool complete = event.total > 0 && event.done >= event.total;
    if (!is_new && !complete && now - entry->second < kInterval) return false;
    entry->second = now;
    return true;
  }

 private:
  std::map<std::string, Clock::time_point, std::less<>> last_;   // by phase
};

}  // namespace kedge::server
