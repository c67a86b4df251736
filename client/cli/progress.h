// Shows the events of a running job on stderr: lines that are drawn in place on a terminal, a plain line every few seconds elsewhere.
#pragma once

#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "client/cli/job_progress.h"
#include "client/cli/live_area.h"
#include "schemas/event.h"

namespace kedge::cli {

// Draws whenever an event comes, once a second, and at once when the terminal changes its size. While it lives, SIGWINCH is blocked in the
// thread that made it. What else is written to stderr meanwhile spoils the picture.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();   // leaves the cursor at the start of an empty line
  ProgressDisplay(const ProgressDisplay&) = delete;

  void show(const schema::Event& event);

 private:
  void run(const std::stop_token& stop);   // the thread that draws again
  void draw();                             // with mutex_ held
  double now() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  JobProgress progress_;   // guarded by mutex_
  LiveArea area_;          // guarded by mutex_
  sigset_t before_{};      // the signals that were blocked
  std::jthread redraw_;    // last: it uses the others
};

}  // namespace kedge::cli
