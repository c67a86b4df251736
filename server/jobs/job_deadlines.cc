// How long a job may wait, fetch and run: see job_deadlines.h.
#include "server/jobs/job_deadlines.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using Clock = ActiveJob::Clock;
using schema::Error;
using schema::ErrorCode;
using schema::JobState;

// The shorter of the job's and the server's; 0: no deadline.
double shorter(double job, double server) {
  return job > 0 && server > 0 ? std::min(job, server) : std::max(job, server);
}

Error late(std::string_view what, double limit, std::string_view name) {
  return Error(ErrorCode::kDeadlineExceeded, fmt::format("{} longer than its {} deadline of {} s", what, name, limit),
               fmt::format("deadlines.{}", name));
}

}   // namespace

void JobDeadlines::set_wait(ActiveJob& job) {
  const double waited = std::chrono::duration<double>(Clock::now() - job.waiting_since).count();
  set(job, shorter(job.deadlines.queue, limits_.queue), job.queued_seconds + waited);
}

void JobDeadlines::set_fetch(ActiveJob& job) {
  set(job, shorter(job.deadlines.fetch, limits_.fetch));
}

void JobDeadlines::set_run(ActiveJob& job) {
  set(job, shorter(job.deadlines.run, limits_.run));
}

void JobDeadlines::clear(ActiveJob& job) {
  set(job, 0);
}

// `spent`: seconds of the limit that have passed.
void JobDeadlines::set(ActiveJob& job, double limit, double spent) {
  job.deadline = Clock::time_point::max(), job.limit = limit;
  constexpr double kFar = 1e9;   // seconds; beyond, the sum would not fit
  if (limit > 0 && limit < kFar)
    job.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit - spent));
  clock_.set(job.id, job.deadline);
}

Error JobDeadlines::error(const ActiveJob& job) {
  if (job.state == JobState::kRunning) return late("the job ran", job.limit, "run");
  if (job.state == JobState::kFetching && !job.spec) return late("its data took", job.limit, "fetch");
  return late("the job waited for its turn", job.limit, "queue");
}

}   // namespace kedge::server
