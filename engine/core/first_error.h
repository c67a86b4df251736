// FirstError: carries what a thread of a parallel loop throws to the one that began the loop.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "engine/core/stop.h"

namespace kedge::engine {

// An exception that leaves a region of OpenMP, or a thread, ends the process: a worker that allocates too much memory
// would die instead of reporting it. Each piece of such a loop is therefore a run(), and rethrow() follows the loop.
// Made on the thread that begins the loop, whose stop holds for all pieces: once it is requested, no further piece
// begins and rethrow() throws kCancelled. Thread safe.
class FirstError {
 public:
  // work(), unless an earlier one threw: what follows a failure is not begun.
  template <class Work>
  void run(const Work& work) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      const StopScope scope(stop_);
      check_job_stop();
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }
  // After the loop, on the thread that began it.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::stop_token* const stop_ = internal::job_stop;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}   // namespace kedge::engine
