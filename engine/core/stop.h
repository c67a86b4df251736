// The stop of the job that a thread works for, so that every long loop can end when the job is cancelled.
#pragma once

#include <stop_token>
#include <utility>

#include "schemas/error.h"

namespace kedge::engine {

namespace internal {
// Ops have no Context: what a thread works for is a property of the thread while a StopScope lives on it.
inline constinit thread_local const std::stop_token* job_stop = nullptr;
}   // namespace internal

// While it lives, check_job_stop() on this thread, and on the threads of parallel loops that begin here (see
// FirstError), sees this stop. A worker makes one for each job. Scopes nest: the inner one counts.
class StopScope {
 public:
  explicit StopScope(std::stop_token stop) : own_(std::move(stop)), before_(internal::job_stop) {
    internal::job_stop = &own_;
  }
  // That of another thread, which waits for this one; null: none.
  explicit StopScope(const std::stop_token* of_other) : before_(internal::job_stop) { internal::job_stop = of_other; }
  ~StopScope() { internal::job_stop = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::stop_token own_;
  const std::stop_token* before_;
};

// Throws Error{kCancelled} once the job of this thread is to stop; without a StopScope nothing. Costs two loads: a loop
// calls it at least every 50 ms of work. Results are left half done, as after any error. Never called from destructors.
inline void check_job_stop() {
  if (internal::job_stop && internal::job_stop->stop_requested())
    throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
}

}   // namespace kedge::engine
