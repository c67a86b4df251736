// How long a job may wait, fetch and run: the shorter of what the job and the server allow.
#pragma once

#include <functional>
#include <string>

#include "schemas/job.h"
#include "server/jobs/active_job.h"
#include "server/jobs/deadline_clock.h"

namespace kedge::server {

// Each job has at most one deadline at a time, for what it does now. Not thread safe, except that `reached` comes from
// a thread of its own.
class JobDeadlines {
 public:
  // `reached` is called with no lock held. The deadline may have been moved meanwhile: see has_passed().
  explicit JobDeadlines(std::function<void(const std::string& job)> reached) : clock_(std::move(reached)) {}

  // Of every job, in seconds; 0: none. For deadlines that are set from now on.
  void set_limits(const schema::Deadlines& limits) { limits_ = limits; }

  // The job begins to do this now. Its earlier waits count as well.
  void set_wait(ActiveJob& job);
  void set_fetch(ActiveJob& job);
  void set_run(ActiveJob& job);
  void clear(ActiveJob& job);

  static bool has_passed(const ActiveJob& job) { return ActiveJob::Clock::now() >= job.deadline; }
  // What becomes of a job whose deadline has passed: kDeadlineExceeded, at the deadline of its present state.
  static schema::Error error(const ActiveJob& job);

 private:
  void set(ActiveJob& job, double limit, double spent = 0);

  schema::Deadlines limits_;
  DeadlineClock clock_;
};

}   // namespace kedge::server
