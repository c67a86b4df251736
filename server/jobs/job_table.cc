// The table of all jobs that have not ended: see job_table.h.
#include "server/jobs/job_table.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

using Clock = ActiveJob::Clock;
using schema::Error;
using schema::JobState;

constexpr std::size_t kMaxBacklog = 10'000;   // writes that wait; beyond, events that are not state changes are dropped

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Takes what it reports. A caller without memory for it finds the end in the store.
void report_to_submitter(ActiveJob& job, StateChange& change) {
  try {
    std::exchange(job.ended, nullptr)({.state = change.state,
                                       .reason = change.reason,
                                       .error = change.error,
                                       .attempts = job.attempts,
                                       .started = job.started,
                                       .ended = change.time,
                                       .result = std::move(change.result)});
  } catch (const std::bad_alloc&) {
  }
}

}   // namespace

JobTable::JobTable(Store& store, JobTableOptions options)
    : store_(store),
      options_(std::move(options)),
      observer_(options_.observer ? *options_.observer : ignore_all_),
      last_lease_(store.last_lease()),
      deadlines_(options_.deadline_reached) {}

void JobTable::begin_drain(const TableLock&) {
  phase_ = std::max(phase_, Phase::kDraining);
}

void JobTable::begin_stop(const TableLock&) {
  phase_ = Phase::kStopping;
}

void JobTable::close() {
  {
    const TableLock held = lock();
    for (const auto& [id, job] : jobs_) {
      if (schema::is_final(job->state) || job->state == JobState::kQueued) continue;
      write(held, job,
            {.state = job->cancel_requested ? JobState::kCancelled : JobState::kQueued,
             .reason = job->cancel_requested ? "" : "SERVER_STOPPED",
             .new_lease = next_lease(held)});
    }
  }
  store_.close();
}

void JobTable::add(const TableLock&, const JobPointer& job) {
  std::size_t& open = open_[job->tenant];   // first, so that nothing is half done where memory ends
  jobs_[job->id] = job;
  ++open;
}

void JobTable::remove(const TableLock&, const JobPointer& job) {
  jobs_.erase(job->id);
  close_one_of(job->tenant);
}

void JobTable::close_one_of(const std::string& tenant) {
  const auto open = open_.find(tenant);
  if (open != open_.end() && --open->second == 0) open_.erase(open);
}

std::vector<JobPointer> JobTable::jobs(const TableLock&) const {
  std::vector<JobPointer> all;
  for (const auto& [id, job] : jobs_) all.push_back(job);
  return all;
}

JobPointer JobTable::find(const TableLock&, std::string_view id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

std::size_t JobTable::open_jobs(const TableLock&, const std::string& tenant) const {
  const auto open = open_.find(tenant);
  return open == open_.end() ? 0 : open->second;
}

void JobTable::count(const TableLock&, Load& load) const {
  using enum JobState;
  for (const JobState state : {kQueued, kFetching, kRunning, kFinalizing}) load.jobs[schema::job_state_name(state)] = 0;
  for (const auto& [id, job] : jobs_) {
    if (schema::is_final(job->state)) continue;
    ++load.jobs[schema::job_state_name(job->state)];
    if (job->state == kQueued || (job->state == kFetching && job->spec))
      load.oldest_wait_seconds = std::max(load.oldest_wait_seconds, seconds_since(job->waiting_since));
  }
}

std::string JobTable::now(const TableLock&) {
  const auto clock = std::chrono::system_clock::now();
  last_time_ = KEDGE_CONTROL("times-go-back") ? clock : std::max(last_time_, clock);
  return format_time(last_time_);
}

void JobTable::change(const TableLock& held, const JobPointer& job, StateChange change) {
  job->state = change.state;
  write(held, job, std::move(change));
}

void JobTable::finish(const TableLock& held, const JobPointer& job, StateChange change) {
  close_one_of(job->tenant);
  deadlines_.clear(*job);
  job->state = change.state;
  job->spec.reset();
  queue_.remove(job->id, job->queue_key());
  write(held, job, std::move(change));
}

void JobTable::fail(const TableLock& held, const JobPointer& job, Error error) {
  finish(held, job,
         {.state = JobState::kFailed,
          .reason = std::string(schema::error_code_name(error.code)),
          .error = std::move(error)});
}

void JobTable::append(const TableLock& held, const JobPointer& job, schema::EventBody body) {
  if (const auto* progress = std::get_if<schema::ProgressEvent>(&body))
    if (!job->progress.passes(*progress, Clock::now())) return;
  if (store_.backlog() > kMaxBacklog) return;
  store_.enqueue({.job = job->id,
                  .apply = [id = job->id, lease = job->lease, time = now(held),
                            body = std::move(body)](StoreWriter& writer) { writer.append(id, lease, time, body); }});
}

void JobTable::write(const TableLock& held, const JobPointer& job, StateChange change) {
  change.job = job->id;
  change.time = now(held);
  if (change.starts_attempt && ++job->attempts == 1) job->started = change.time;
  struct Step {
    StateChange change;
    bool took_place = false;
  };
  const JobState state = change.state;
  const std::string reason = change.reason;   // copies: once it is enqueued the change is the store's
  const Error error = change.error.value_or(Error());
  const auto step = std::make_shared<Step>(Step{std::move(change)});   // shared by the callbacks of one write
  StoreWrite write{.job = job->id,
                   .apply = [step](StoreWriter& writer) { step->took_place = writer.change(step->change); }};
  if (schema::is_final(state))
    write.committed = [this, job, step] { ended_on_disk(job, step->change, step->took_place); };
  store_.enqueue(std::move(write));
  observer_.job_step({.job = job->id,
                      .tenant = job->tenant,
                      .trace = job->trace,
                      .state = state,
                      .reason = reason,
                      .message = error.message,
                      .where = error.where,
                      .device = job->device,
                      .lease = job->lease,
                      .queued_seconds = job->queued_seconds,
                      .run_seconds = job->run_seconds,
                      .total_seconds = seconds_since(job->submitted)});
}

void JobTable::ended_on_disk(const JobPointer& job, StateChange& change, bool took_place) {
  {
    const TableLock held = lock();
    jobs_.erase(job->id);
  }
  if (took_place && job->ended) report_to_submitter(*job, change);
  report_end(*job);
  if (change.model && options_.model_stored) options_.model_stored(*change.model);
}

void JobTable::report_end(const ActiveJob& job) const {
  if (options_.ended) options_.ended(job.id);
}

}   // namespace kedge::server
