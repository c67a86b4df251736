// What the check of a job description may take, and the clock that holds it to that.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

namespace kedge::engine {

struct CheckBudget {
  std::stop_token stop = {};                                                      // the check ends with kCancelled
  std::chrono::nanoseconds processor_time = std::chrono::nanoseconds::max();      // of the thread that checks
};

// Runs from its construction on, on the thread that made it.
class CheckClock {
 public:
  explicit CheckClock(const CheckBudget& budget);

  // Errors: kCancelled; kInvalidValue at `where` when the time is over. `done` and `all` count what is checked there.
  void spend(const std::string& where, std::size_t done, std::size_t all) const;

 private:
  CheckBudget budget_;
  std::chrono::nanoseconds begin_;
};

}  // namespace kedge::engine
