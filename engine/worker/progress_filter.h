// Keeps a job that counts fast (trees, iterations) from flooding the event log.
#pragma once

#include <chrono>
#include <string>

#include "schemas/event.h"

namespace kedge::engine {

// One per job; not thread safe. It differs from server/jobs/progress_gate.h, because they spare different things: this
// one spares the channel to the server. A fold finishes far less often than a tree or an iteration, so every fold event
// is sent, and the server decides which to store.
class ProgressFilter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};

  // False for a progress event that comes sooner than kInterval after the last one that passed. The first of a phase, the last of
  // a phase and every finished fold pass always, and so does everything that is no progress.
  bool passes(const schema::EventBody& body, Clock::time_point now) {
    const auto* progress = std::get_if<schema::ProgressEvent>(&body);
    if (!progress || progress->phase == "fold") return true;
    const bool is_last = progress->total > 0 && progress->done >= progress->total;
    const bool is_first = progress->phase != phase_ || progress->fold != fold_;
    if (!is_first && !is_last && now - last_ < kInterval) return false;
    phase_ = progress->phase, fold_ = progress->fold, last_ = now;
    return true;
  }

 private:
  std::string phase_;
  std::int64_t fold_ = -1;
  Clock::time_point last_{};
};

}  // namespace kedge::engine
