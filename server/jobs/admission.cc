// The first part of a job's life: see admission.h.
#include "server/jobs/admission.h"

#include <fmt/core.h>

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "engine/table/columns_read.h"
#include "schemas/error.h"
#include "schemas/quota.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

using Clock = ActiveJob::Clock;
using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::chrono::seconds kCancelWait{5};
constexpr std::chrono::hours kCrashMemory{24};   // after a restart, crashes of longer ago do not count

JobPointer job_of(OpenJob open, const std::string& now) {
  auto job = std::make_shared<ActiveJob>();
  const std::chrono::duration<double> age(seconds_between(open.created, now));
  job->id = std::move(open.id), job->wish = std::move(open.wish), job->tenant = std::move(open.tenant),
  job->crashes = open.crashes;
  job->digest = std::move(open.digest), job->trace = std::move(open.trace), job->deadlines = open.deadlines;
  job->submitted = job->waiting_since = Clock::now() - std::chrono::duration_cast<Clock::duration>(age);
  return job;
}

JobPointer job_of(const NewJob& given) {
  auto job = std::make_shared<ActiveJob>();
  job->id = given.job.id, job->wish = given.job.spec.device, job->tenant = given.tenant;
  job->digest = given.digest, job->trace = given.trace, job->deadlines = given.job.spec.deadlines;
  job->submitted = job->waiting_since = Clock::now();
  return job;
}

}   // namespace

// What the callbacks of one insert share.
struct Admission::Submission {
  schema::Job answer;   // made before the write, so that what is on disk can be answered without memory
  NewJob job;
  std::optional<schema::Job> first = {};   // that has the key already
};

void Admission::recover(const TableLock& held) {
  const std::string now = table_.now(held);
  table_.crashes(held) =
      CrashHistory(store_.crashes_since(format_time(std::chrono::system_clock::now() - kCrashMemory)));
  for (OpenJob& open : store_.take_open_jobs()) {
    const schema::DatasetRef dataset = std::move(open.dataset);
    const JobPointer job = job_of(std::move(open), now);
    table_.add(held, job);
    job->supply = fetching_.supply_of(dataset, {.tenant = job->tenant});
    fetching_.add(held, job);
  }
  fetching_.start(held);
}

void Admission::check_room(const TableLock& held, const std::string& tenant) const {
  const std::size_t open = table_.open_jobs(held, tenant);
  if (open_jobs_per_tenant_ == 0 || open < open_jobs_per_tenant_) return;
  throw schema::QuotaExceeded(
      fmt::format("{} jobs are waiting or running, at most {} may; wait for some to end", open, open_jobs_per_tenant_),
      {.name = "jobs", .unit = "concurrent-requests", .most = open_jobs_per_tenant_});
}

void Admission::require_room(const std::string& tenant) const {
  check_room(table_.lock(), tenant);
}

void Admission::submit(NewJob given, Submitter submitter) {
  KEDGE_FAIL_POINT("job.submit.before");
  const JobPointer job = job_of(given);
  job->ended = std::move(submitter.ended);
  const schema::JobSpec& spec = given.job.spec;
  job->supply =
      fetching_.supply_of(spec.dataset, {.tenant = given.tenant, .columns = engine::columns_read(spec.select)});
  // Behind others it shares a sync, which its run would only delay. Of two at once with one key both may begin, and one
  // is dropped.
  const bool may_begin =
      store_.backlog() == 0 && (given.idempotency_key.empty() || !store_.has_key(given.tenant, given.idempotency_key));
  const bool has_time =
      may_begin && job->ended && given.idempotency_key.empty();   // or a second one would begin meanwhile
  schema::Job answer{.id = given.job.id, .spec = given.shown ? *given.shown : given.job.spec};
  const auto submission = std::make_shared<Submission>(Submission{std::move(answer), std::move(given)});
  {
    const TableLock held = table_.lock();
    check_room(held, job->tenant);
    submission->answer.created = submission->job.job.created = table_.now(held);
    if (may_begin) job->unsaved = {submission, &submission->job.job.spec};
    table_.add(held, job);
  }
  store(job, submission, std::move(submitter), has_time);
  if (may_begin) begin(job);
  KEDGE_FAIL_POINT("job.submit.after");
}

void Admission::store(const JobPointer& job, const std::shared_ptr<Submission>& submission, Submitter submitter,
                      bool has_time) {
  store_.enqueue({.job = job->id,
                  .apply = [submission](StoreWriter& writer) { submission->first = writer.insert(submission->job); },
                  .committed =
                      [this, job, submission, submitted = std::move(submitter.submitted)] {
                        submission->first ? drop(job) : stored(job);
                        if (submitted)
                          submitted(std::move(submission->first ? *submission->first : submission->answer));
                      },
                  .refused =
                      [this, job, failed = std::move(submitter.failed)](const Error& error) {
                        drop(job);
                        if (failed) failed(error);
                      },
                  .has_time = has_time});
}

void Admission::stored(const JobPointer& job) {
  table_.observer().job_submitted();
  {
    const TableLock held = table_.lock();
    job->unsaved.reset();
  }
  begin(job);
}

// A job may begin before its row is on disk: what it writes comes after the row, and no caller knows of it before.
void Admission::begin(const JobPointer& job) {
  const engine::UsesReserve reserve;
  const TableLock held = table_.lock();
  if (table_.is_stopping(held) || job->has_begun || !table_.find(held, job->id) || job->state != JobState::kQueued)
    return;
  job->has_begun = true;
  if (fail_for_crashes(held, job)) return;
  fetching_.add(held, job);
  running_.fail_impossible(held);
  fetching_.start(held);
}

// True if the job has failed: jobs of its description have killed workers again and again.
bool Admission::fail_for_crashes(const TableLock& held, const JobPointer& job) {
  const std::int64_t crashes = table_.crashes(held).count(*job);
  if (crashes < CrashHistory::kMost) return false;
  table_.fail(held, job,
              Error(ErrorCode::kWorkerCrashed,
                    fmt::format("not run: the last {} jobs of this description killed their workers", crashes)));
  return true;
}

// For a job that was not stored: nothing of it stays, and its writes find no row to change.
void Admission::drop(const JobPointer& job) {
  std::stop_source fetch(std::nostopstate);
  {
    const TableLock held = table_.lock();
    if (!job->has_begun) {
      table_.remove(held, job);
      table_.report_end(*job);
    } else if (schema::is_final(job->state)) {
      files_.retract(job->id, job->lease, JobFiles::model_id_of(job->id));
      table_.report_end(*job);
    } else {
      fetch = job->stop;
      stop(held, job);
    }
  }
  fetch.request_stop();
}

// The job is to end as cancelled. The caller stops its fetch without the lock: that calls the data set cache.
void Admission::stop(const TableLock& held, const JobPointer& job) {
  job->cancel_requested = true;
  if (job->state == JobState::kRunning) running_.cancel(held, *job);
  else table_.finish(held, job, {.state = JobState::kCancelled});
}

bool Admission::cancel(std::string_view id) {
  const engine::UsesReserve reserve;
  KEDGE_FAIL_POINT("job.cancel.before");
  std::stop_source fetch(std::nostopstate);
  auto on_disk = std::make_shared<std::promise<void>>();   // shared with the write, which may outlive the wait
  {
    const TableLock held = table_.lock();
    const JobPointer job = table_.find(held, id);
    if (!job) return false;
    if (schema::is_final(job->state))
      throw Error(ErrorCode::kConflict, fmt::format("job {} has ended: {}", id, schema::job_state_name(job->state)));
    if (KEDGE_CONTROL("forget-cancels")) return true;
    fetch = job->stop;
    stop(held, job);
    store_.enqueue({.apply = [id = job->id](StoreWriter& writer) { writer.request_cancel(id); },
                    .committed = [on_disk] { on_disk->set_value(); }});
  }
  fetch.request_stop();
  if (on_disk->get_future().wait_for(kCancelWait) != std::future_status::ready)
    throw Error(ErrorCode::kUnavailable,
                fmt::format("job {} is being cancelled, but the disk does not take the note", id));
  KEDGE_FAIL_POINT("job.cancel.after");
  return true;
}

}   // namespace kedge::server
