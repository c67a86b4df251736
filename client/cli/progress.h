// Shows the events of a running job: a live line on a terminal, plain lines elsewhere. All of it goes to stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "schemas/event.h"

namespace kedge::cli {

class ProgressDisplay {
 public:
  ProgressDisplay();             // asks whether stderr is a terminal
  explicit ProgressDisplay(bool terminal) : terminal_(terminal) {}
  ~ProgressDisplay();            // leaves the cursor on a fresh line
  ProgressDisplay(const ProgressDisplay&) = delete;

  void show(const schema::Event& event);   // scores and timings of a fold are gathered into one line

 private:
  void live(const schema::ProgressEvent& progress);
  void gather(std::int64_t fold, const std::string& text);
  void finish_fold();                   // prints what was gathered
  void line(const std::string& text);   // a line that stays
  void clear();

  bool terminal_;
  bool live_shown_ = false;
  std::int64_t fold_ = -1;                                 // of what is gathered
  std::string fold_text_;
  std::string phase_;                                      // of the live line, for the rate
  std::int64_t first_done_ = 0;
  std::chrono::steady_clock::time_point phase_start_{};
};

// "download  45 % [=====>    ]  57 of 128 MB  31.0 MB/s  2 s left"; seconds: since the phase began; before: done at that time.
std::string progress_text(const schema::ProgressEvent& progress, double seconds, std::int64_t before);

}  // namespace kedge::cli
