// The third part of a job's life: see running.h.
#include "server/jobs/running.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

using Clock = ActiveJob::Clock;
using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::int64_t kCrashesAllowed = 1;       // so a job has two attempts
constexpr std::int64_t kFalseStartsAllowed = 3;   // given to dying workers: not the job's fault, but it must end
// Data sets below this: on an H100 beside 16 cores, launches and waits took longer than the CPU's work
// (docs/performance/gpu.md).
constexpr std::uintmax_t kLeastGpuBytes = 4 << 20;

bool is_small(const std::filesystem::path& data) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(data, missing);
  return !missing && bytes < kLeastGpuBytes;
}

}   // namespace

void Running::start(const TableLock&, const WorkerOptions& workers, const std::vector<std::string>& devices) {
  supervisor_ = std::make_unique<Supervisor>(workers, devices, *this);
}

void Running::stop() {
  std::unique_ptr<Supervisor> ending;   // its threads take the lock while it ends
  {
    const TableLock held = table_.lock();
    ending = std::move(supervisor_);
  }
}

void Running::wait_until_idle(std::chrono::milliseconds patience) {
  TableLock held = table_.lock();
  held.wait_for(worker_freed_, patience, [this] {
    return std::ranges::none_of(workers_, [](const auto& entry) { return entry.second.job != nullptr; });
  });
}

void Running::add(const TableLock& held, const JobPointer& job) {
  if (job->wish == "auto" && is_small(job->data.path)) job->wish = kAutoSmall;
  job->waiting_since = Clock::now();
  table_.deadlines(held).set_wait(*job);
  table_.queue(held).push_ready(job->id, job->queue_key());
  fail_impossible(held);
  start_runs(held);
}

void Running::cancel(const TableLock&, const ActiveJob& job) {
  if (supervisor_) supervisor_->cancel(job.device, job.id);
}

void Running::fail_late(const TableLock& held, const JobPointer& job) {
  job->late = JobDeadlines::error(*job);
  cancel(held, *job);
}

void Running::fail_impossible(const TableLock& held) {
  if (!devices_known_ || table_.is_stopping(held)) return;
  for (const std::string& wish : table_.queue(held).wishes()) {
    const std::string reason = devices_.missing_reason(wish);
    if (reason.empty()) continue;
    const Error error(ErrorCode::kDeviceUnavailable, reason, "device");
    for (const std::string& id : table_.queue(held).jobs_of(wish)) table_.fail(held, table_.find(held, id), error);
  }
}

std::string Running::missing_reason(const TableLock&, std::string_view wish) const {
  return devices_known_ ? devices_.missing_reason(wish) : std::string();
}

void Running::count(const TableLock&, Load& load) const {
  for (const auto& [device, worker] : workers_)
    load.idle_workers += worker.idle, load.busy_workers += worker.job != nullptr;
  for (const schema::DeviceEntry& device : devices_.entries()) load.missing_devices += !device.missing.empty();
}

void Running::devices_known(const std::vector<schema::DeviceEntry>& devices) {
  const TableLock held = table_.lock();
  devices_ = DeviceTable(devices, {});
  devices_known_ = true;
  fail_impossible(held);
}

void Running::worker_ready(const schema::DeviceEntry& device) {
  const TableLock held = table_.lock();
  devices_.update(device);
  workers_[device.id].idle = true;
  start_runs(held);
}

void Running::worker_unavailable(const std::string& device, const std::string& why) {
  const TableLock held = table_.lock();
  devices_.set_missing(device, why);
  fail_impossible(held);
  start_runs(held);   // jobs with the wish "auto" may now take another device
}

void Running::start_runs(const TableLock& held) {
  for (auto& [device, worker] : workers_) {
    if (!worker.idle || !table_.starts_work(held)) continue;
    const auto serves = [&](std::string_view wish) { return devices_.serves(device, wish); };
    if (const std::optional<std::string> id = table_.queue(held).take_ready(serves))
      start_run(held, table_.find(held, *id), device, worker);
  }
}

void Running::start_run(const TableLock& held, const JobPointer& job, const std::string& device, Worker& worker) {
  job->leave_queue(Clock::now());
  job->run_since = Clock::now();
  job->lease = table_.next_lease(held);
  job->leaves_files = JobFiles::leaves_files(job->spec->task);
  try {
    schema::RunCommand command = command_for(*job);
    worker.idle = false, worker.job = job;
    job->device = device;
    table_.deadlines(held).set_run(*job);
    KEDGE_FAIL_POINT("job.run.before");
    supervisor_->run(device, std::move(command));   // first: what it answers waits for the lock
    table_.change(held, job,
                  {.state = JobState::kRunning, .new_lease = job->lease, .starts_attempt = true, .device = device});
    KEDGE_FAIL_POINT("job.run.after");
  } catch (const Error& error) {
    table_.fail(held, job, error);
  }
  has_room_(held);
}

// Errors: kNotFound for a model that was deleted; the disk's.
schema::RunCommand Running::command_for(const ActiveJob& job) const {
  schema::RunCommand command{.jobId = job.id,
                             .leaseToken = job.lease,
                             .spec = *job.spec,
                             .dataPath = job.data.path,
                             .dataDigest = job.data.path.stem(),
                             .trace = job.trace,
                             .dataName = job.data.name};
  if (const std::string* model = schema::model_of(job.spec->task)) {
    command.modelPath = files_.model_path(*model);
    if (!std::filesystem::exists(command.modelPath))
      throw Error(ErrorCode::kNotFound, fmt::format("the model '{}' was deleted", *model));
    command.outputDir = files_.make_folder(job.id, job.lease);
  } else if (job.leaves_files) {
    command.modelPath = files_.unfinished_model(job.id, job.lease);
  }
  return command;
}

void Running::worker_event(const std::string& device, schema::EventReport report) {
  const bool allowed = !std::holds_alternative<schema::StateEvent>(report.body) &&
                       !std::holds_alternative<schema::ResultEvent>(report.body);   // only the server says those
  KEDGE_FAIL_POINT("job.event.before");
  const TableLock held = table_.lock();
  const JobPointer& job = workers_[device].job;
  if (allowed && job && job->lease == report.leaseToken) table_.append(held, job, std::move(report.body));
  KEDGE_FAIL_POINT("job.event.after");
}

// The device time of a run that has ended.
void Running::charge(const TableLock& held, ActiveJob& job) {
  const double seconds = std::chrono::duration<double>(Clock::now() - job.run_since).count();
  job.run_seconds += seconds;
  table_.queue(held).charge(job.tenant, seconds);
  table_.observer().device_used(job.device, job.tenant, seconds);
}

// Null: the lease is stale.
JobPointer Running::take_job(const TableLock& held, const std::string& device, std::int64_t lease) {
  Worker& worker = workers_[device];
  if (!worker.job || (worker.job->lease != lease && !KEDGE_CONTROL("publish-stale-results"))) return nullptr;
  worker.idle = true;
  worker_freed_.notify_all();
  charge(held, *worker.job);
  return std::exchange(worker.job, nullptr);
}

void Running::worker_done(const std::string& device, schema::DoneReport report) {
  KEDGE_FAIL_POINT("job.done.before");
  const JobPointer job = take_finished(device, report);
  if (!job) return;
  Publishing::Files files = publishing_.place_files(*job, report);
  const TableLock held = table_.lock();
  publishing_.end(held, job, std::move(report), std::move(files));
  start_runs(held);
  KEDGE_FAIL_POINT("job.done.after");
}

// Null: there is nothing to publish.
JobPointer Running::take_finished(const std::string& device, schema::DoneReport& report) {
  const TableLock held = table_.lock();
  JobPointer job = take_job(held, device, report.leaseToken);
  if (!job || table_.is_stopping(held)) return nullptr;
  if (publishing_.begin(held, job, report)) return job;
  start_runs(held);
  return nullptr;
}

void Running::worker_failed(const std::string& device, schema::FailedReport report) {
  KEDGE_FAIL_POINT("job.failed.before");
  const TableLock held = table_.lock();
  const JobPointer job = take_job(held, device, report.leaseToken);
  if (!job || table_.is_stopping(held)) return;
  files_.discard(job->id, job->lease);
  if (job->cancel_requested) table_.finish(held, job, {.state = JobState::kCancelled});
  else table_.fail(held, job, job->late ? *job->late : std::move(report.error));
  start_runs(held);
  KEDGE_FAIL_POINT("job.failed.after");
}

void Running::worker_lost(const std::string& device, const WorkerLoss& loss) {
  const TableLock held = table_.lock();
  Worker& worker = workers_[device];
  worker.idle = false;
  const JobPointer job = std::exchange(worker.job, nullptr);
  worker_freed_.notify_all();
  table_.observer().worker_lost(loss.why, job != nullptr);
  if (!job || table_.is_stopping(held)) return;
  files_.discard(job->id, job->lease);
  charge(held, *job);
  survive_loss(held, job, device, loss);
}

void Running::survive_loss(const TableLock& held, const JobPointer& job, const std::string& device,
                           const WorkerLoss& loss) {
  ++(loss.job_begun ? job->crashes : job->false_starts);
  if (job->cancel_requested) return table_.finish(held, job, {.state = JobState::kCancelled});
  if (job->late) return table_.fail(held, job, *job->late);
  if ((job->crashes > kCrashesAllowed && !KEDGE_CONTROL("retry-for-ever")) || job->false_starts > kFalseStartsAllowed) {
    table_.crashes(held).add(*job);
    return table_.fail(held, job,
                       Error(ErrorCode::kWorkerCrashed,
                             fmt::format("the worker on {} died {} times while it ran this job, the last time: {}",
                                         device, job->crashes + job->false_starts, loss.how)));
  }
  retry(held, job, loss.job_begun,
        Error(ErrorCode::kWorkerCrashed,
              fmt::format("the worker on {} died while it ran this job: {}; it runs again", device, loss.how)));
}

// Its data is still there, so it only waits for a worker; being the oldest, it is the next to run.
void Running::retry(const TableLock& held, const JobPointer& job, bool crashed, Error why) {
  KEDGE_FAIL_POINT("job.retry.before");
  job->lease = table_.next_lease(held);   // a late report of the dead worker is stale
  table_.change(held, job,
                {.state = JobState::kQueued,
                 .reason = std::string(schema::error_code_name(why.code)),
                 .error = std::move(why),
                 .new_lease = job->lease,
                 .crashed = crashed});
  add(held, job);
  KEDGE_FAIL_POINT("job.retry.after");
}

}   // namespace kedge::server
