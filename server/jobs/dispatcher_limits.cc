// The dispatcher's limits: deadlines of jobs, specs that kill workers, and the end of the server.
#include <fmt/core.h>

#include <algorithm>

#include "schemas/error.h"
#include "server/jobs/active_job.h"
#include "server/jobs/dispatcher.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::size_t kLocalPerTenant = 8;     // data sets that are read or parsed for it at a time, without the network
constexpr std::int64_t kCrashesOfASpec = 3;   // jobs of one tenant and spec that may fail so before the next is not tried

// The shorter of what the job and the server ask for; 0: no deadline.
double shorter(double job, double server) {
  return job > 0 && server > 0 ? std::min(job, server) : std::max(job, server);
}

std::string spec_key(const ActiveJob& job) {
  return job.tenant + "\n" + job.digest;
}

Error late(std::string_view what, double limit, std::string_view name) {
  return Error(ErrorCode::kDeadlineExceeded, fmt::format("{} longer than its {} deadline of {} s", what, name, limit),
               fmt::format("deadlines.{}", name));
}

}  // namespace

schema::Deadlines Dispatcher::limits(const ActiveJob& job) const {
  return {.queue = shorter(job.deadlines.queue, deadlines_.queue),
          .fetch = shorter(job.deadlines.fetch, deadlines_.fetch),
          .run = shorter(job.deadlines.run, deadlines_.run)};
}

// `spent`: seconds of the limit that are gone.
void Dispatcher::arm(const JobPointer& job, double limit, double spent) {
  job->deadline = Clock::time_point::max(), job->limit = limit;
  constexpr double kFar = 1e9;   // seconds; beyond, the sum would not fit
  if (limit > 0 && limit < kFar)
    job->deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit - spent));
  clock_->set(job->id, job->deadline);
}

void Dispatcher::arm_queue(const JobPointer& job) {
  const double waited = std::chrono::duration<double>(Clock::now() - job->waiting_since).count();
  arm(job, limits(*job).queue, job->queued_seconds + waited);
}

void Dispatcher::deadline_reached(const std::string& id) {
  std::stop_source fetch(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || stopping_ || Clock::now() < found->second->deadline) return;
    const JobPointer job = found->second;
    if (job->state == JobState::kRunning) {
      job->late = late("the job ran", job->limit, "run");
      supervisor_->cancel(job->device, job->id);
    } else if (job->state == JobState::kFetching && !job->spec) {
      fetch = job->stop;
      fail(job, late("its data took", job->limit, "fetch"));
    } else if (!schema::is_final(job->state)) {
      fail(job, late("the job waited for its turn", job->limit, "queue"));
    }
  }
  fetch.request_stop();
}

// True if the job has been failed: its like has killed workers again and again.
bool Dispatcher::fail_poison(const JobPointer& job) {
  const auto crashes = crashes_by_spec_.find(spec_key(*job));
  if (crashes == crashes_by_spec_.end() || crashes->second < kCrashesOfASpec) return false;
  fail(job, Error(ErrorCode::kWorkerCrashed,
                  fmt::format("not run: the last {} jobs of this description killed their workers", crashes->second)));
  return true;
}

void Dispatcher::remember_crash(const ActiveJob& job) {
  ++crashes_by_spec_[spec_key(job)];
}
void Dispatcher::forget_crashes(const ActiveJob& job) {
  crashes_by_spec_.erase(spec_key(job));
}

void Dispatcher::set_limits(TenantLimits tenants, const schema::Deadlines& deadlines) {
  const std::lock_guard lock(mutex_);
  open_jobs_per_tenant_ = tenants.open_jobs;
  network_.set_per_tenant(tenants.fetches);
  local_.set_per_tenant(kLocalPerTenant);
  queue_.set_weights(std::move(tenants.weights));
  deadlines_ = deadlines;
}

void Dispatcher::begin_drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool Dispatcher::draining() const {
  const std::lock_guard lock(mutex_);
  return draining_;
}

void Dispatcher::drain(std::chrono::milliseconds patience) {
  begin_drain();
  std::unique_lock lock(mutex_);
  drained_.wait_for(lock, patience, [this] {
    return std::ranges::none_of(workers_, [](const auto& entry) { return entry.second.job != nullptr; });
  });
}

}  // namespace kedge::server
