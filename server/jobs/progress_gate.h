// Decides which progress events of a job are worth storing.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "schemas/event.h"

namespace kedge::server {

// At most ten a second for each phase, and always the first and the one that completes it. Not thread safe. It differs
// from the engine's filter (engine/worker/progress_filter.h), because they spare different things. The engine's spares
// the channel and sends every fold event. This one spares the database: each stored event is a row of it, and a job may
// have thousands of short folds, so fold events that follow each other quickly are held back as well. No score is lost
// by this, because the scores of a fold are metric events.
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
