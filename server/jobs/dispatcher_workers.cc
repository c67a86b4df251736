// The dispatcher's dealings with workers: who runs what, and what becomes of a job when its worker answers or dies.
#include <fmt/core.h>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"
#include "server/jobs/active_job.h"
#include "server/jobs/dispatcher.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::int64_t kCrashesAllowed = 1;       // so a job has two attempts
constexpr std::int64_t kFalseStartsAllowed = 3;   // given to workers that were dying: not its fault, but not for ever

}  // namespace

void Dispatcher::devices_known(const std::vector<schema::DeviceEntry>& devices) {
  const std::lock_guard lock(mutex_);
  devices_ = DeviceTable(devices, {});
  devices_known_ = true;
  fail_impossible();
}

void Dispatcher::worker_ready(const schema::DeviceEntry& device) {
  const std::lock_guard lock(mutex_);
  devices_.update(device);
  workers_[device.id].idle = true;
  start_runs();
}

void Dispatcher::worker_unavailable(const std::string& device, const std::string& why) {
  const std::lock_guard lock(mutex_);
  devices_.set_missing(device, why);
  fail_impossible();
  start_runs();   // jobs with the wish "auto" may now take another device
}

void Dispatcher::make_ready(const JobPointer& job) {
  job->waiting_since = Clock::now();
  arm_queue(job);
  queue_.push_ready(job->id, job->queue_key());
  if (devices_known_) fail_impossible();
  start_runs();
}

void Dispatcher::start_runs() {
  for (auto& [device, worker] : workers_) {
    if (!worker.idle || stopping_ || draining_) continue;
    const auto serves = [&](std::string_view wish) { return devices_.serves(device, wish); };
    if (const std::optional<std::string> id = queue_.take_ready(serves)) start_run(jobs_.at(*id), device, worker);
  }
}

schema::RunCommand Dispatcher::command_for(const ActiveJob& job) const {
  schema::RunCommand command{.jobId = job.id,
                             .leaseToken = job.lease,
                             .spec = *job.spec,
                             .dataPath = job.data.path,
                             .dataDigest = job.data.path.stem(),
                             .trace = job.trace,
                             .dataName = job.data.name};
  if (const std::string* model = schema::model_of(job.spec->task)) {
    command.modelPath = options_.files->model_path(*model);
    if (!std::filesystem::exists(command.modelPath)) throw Error(ErrorCode::kNotFound, fmt::format("the model '{}' was deleted", *model));
    command.outputDir = options_.files->make_folder(job.id, job.lease);
  } else if (job.leaves_files) {
    command.modelPath = options_.files->unfinished_model(job.id, job.lease);
  }
  return command;
}

void Dispatcher::start_run(const JobPointer& job, const std::string& device, Worker& worker) {
  job->leave_queue(Clock::now());
  job->run_since = Clock::now();
  job->lease = ++last_lease_;
  job->leaves_files = JobFiles::leaves_files(job->spec->task);
  try {
    schema::RunCommand command = command_for(*job);
    worker.idle = false, worker.job = job;
    job->state = JobState::kRunning, job->device = device;
    arm(job, limits(*job).run);
    KEDGE_FAIL_POINT("job.run.before");
    supervisor_->run(device, std::move(command));   // first: what it answers waits for the lock
    write(job, {.state = JobState::kRunning, .new_lease = job->lease, .starts_attempt = true, .device = device});
    KEDGE_FAIL_POINT("job.run.after");
  } catch (const Error& error) {
    fail(job, error);
  }
  start_fetches();   // there is room for another ready job
}

void Dispatcher::worker_event(const std::string& device, schema::EventReport report) {
  const bool allowed = !std::holds_alternative<schema::StateEvent>(report.body) &&
                       !std::holds_alternative<schema::ResultEvent>(report.body);   // those are ours to say
  KEDGE_FAIL_POINT("job.event.before");
  const std::lock_guard lock(mutex_);
  const JobPointer& job = workers_[device].job;
  if (allowed && job && job->lease == report.leaseToken) append(job, std::move(report.body));
  KEDGE_FAIL_POINT("job.event.after");
}

void Dispatcher::charge(const JobPointer& job) {
  const double seconds = std::chrono::duration<double>(Clock::now() - job->run_since).count();
  job->run_seconds += seconds;
  queue_.charge(job->tenant, seconds);
  observer_.device_used(job->device, job->tenant, seconds);
}

Dispatcher::JobPointer Dispatcher::take_job(const std::string& device, std::int64_t lease) {
  Worker& worker = workers_[device];
  if (!worker.job || (worker.job->lease != lease && !KEDGE_CONTROL("publish-stale-results"))) return nullptr;
  worker.idle = true;
  drained_.notify_all();
  charge(worker.job);
  return std::exchange(worker.job, nullptr);
}

// The end of the computation and the end of the job are two states, so that what is published in between has a name.
Dispatcher::JobPointer Dispatcher::finalize(const std::string& device, schema::DoneReport& report) {
  const std::lock_guard lock(mutex_);
  const JobPointer job = take_job(device, report.leaseToken);
  if (!job || stopping_) return nullptr;
  if (job->cancel_requested) {   // acknowledged, so it holds
    options_.files->discard(job->id, job->lease);
    finish(job, {.state = JobState::kCancelled});
    start_runs();
    return nullptr;
  }
  arm(job, 0);
  job->state = JobState::kFinalizing, job->finalizing_since = Clock::now();
  write(job, {.state = JobState::kFinalizing, .held_lease = job->lease});
  forget_crashes(*job);
  if (report.model) {
    report.model->id = report.result.model = JobFiles::model_id_of(job->id);
    report.model->job = job->id, report.model->created = now();
  }
  return job;
}

// The files take their place before the row that makes them known is written. Not under the lock: a model may be large.
Dispatcher::Published Dispatcher::publish(const ActiveJob& job, schema::DoneReport& report) const {
  Published published{.model = {}, .model_bytes = reserve_model(job, report), .artifact_bytes = {}};
  std::optional<NewModel>& model = published.model;
  if (options_.bytes && !report.result.artifacts.empty())
    published.artifact_bytes = options_.bytes->reserve(job.tenant, options_.files->unfinished_bytes(job.id, job.lease));
  if (report.model && report.modelBytes.empty())
    model = options_.models->adopt_file(options_.files->unfinished_model(job.id, job.lease), std::move(*report.model));
  else if (report.model)
    model = options_.models->adopt_bytes(std::move(report.modelBytes), std::move(*report.model));
  if (!report.result.artifacts.empty())
    options_.files->publish_artifacts(job.id, job.lease);
  else if (!model)
    options_.files->discard(job.id, job.lease);
  return published;
}

// A result is worth keeping without its model: one for which there is no room is left out, and the result says so.
TenantBytes::Reservation Dispatcher::reserve_model(const ActiveJob& job, schema::DoneReport& report) const {
  if (!report.model || !options_.bytes) return {};
  std::error_code missing;
  const std::uintmax_t size = report.modelBytes.empty() ? std::filesystem::file_size(options_.files->unfinished_model(job.id, job.lease), missing)
                                                        : report.modelBytes.size();
  try {
    return options_.bytes->reserve(job.tenant, missing ? 0 : size);
  } catch (const Error& error) {
    report.model.reset();
    report.modelBytes.clear();
    report.result.model.clear();
    std::filesystem::remove(options_.files->unfinished_model(job.id, job.lease), missing);
    report.result.warnings.push_back(fmt::format("the model of {} bytes was not stored: {}", size, error.message));
    return {};
  }
}

void Dispatcher::worker_done(const std::string& device, schema::DoneReport report) {
  KEDGE_FAIL_POINT("job.done.before");
  const JobPointer job = finalize(device, report);
  if (!job) return;
  Published published;
  std::optional<Error> failure;
  try {
    if (job->leaves_files) published = publish(*job, report);
  } catch (const Error& error) {
    failure = error;
  }
  const std::lock_guard lock(mutex_);
  const bool is_cancelled = schema::is_final(job->state);   // meanwhile
  if (is_cancelled || failure) options_.files->retract(job->id, job->lease, report.result.model);
  if (!is_cancelled && !failure) {
    published.model_bytes.keep();
    published.artifact_bytes.keep();
  }
  if (!is_cancelled) failure ? fail(job, *failure) : succeed(job, std::move(report.result), std::move(published.model));
  start_runs();
  KEDGE_FAIL_POINT("job.done.after");
}

void Dispatcher::worker_failed(const std::string& device, schema::FailedReport report) {
  KEDGE_FAIL_POINT("job.failed.before");
  const std::lock_guard lock(mutex_);
  const JobPointer job = take_job(device, report.leaseToken);
  if (!job || stopping_) return;
  options_.files->discard(job->id, job->lease);
  if (job->cancel_requested)
    finish(job, {.state = JobState::kCancelled});
  else
    fail(job, job->late ? *job->late : std::move(report.error));
  start_runs();
  KEDGE_FAIL_POINT("job.failed.after");
}

void Dispatcher::worker_lost(const std::string& device, const WorkerLoss& loss) {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_[device];
  worker.idle = false;
  const JobPointer job = std::exchange(worker.job, nullptr);
  drained_.notify_all();
  observer_.worker_lost(loss.why, job != nullptr);
  if (!job || stopping_) return;
  options_.files->discard(job->id, job->lease);
  charge(job);
  ++(loss.job_begun ? job->crashes : job->false_starts);
  if (job->cancel_requested)
    finish(job, {.state = JobState::kCancelled});
  else if (job->late)
    fail(job, *job->late);
  else if ((job->crashes > kCrashesAllowed && !KEDGE_CONTROL("retry-for-ever")) || job->false_starts > kFalseStartsAllowed)
    fail_crashed(job, Error(ErrorCode::kWorkerCrashed,
                    fmt::format("the worker on {} died {} times while it ran this job, the last time: {}", device,
                                job->crashes + job->false_starts, loss.how)));
  else
    retry(job, loss.job_begun, Error(ErrorCode::kWorkerCrashed, fmt::format("the worker on {} died while it ran this job: {}; it runs again", device, loss.how)));
}

void Dispatcher::fail_crashed(const JobPointer& job, Error error) {
  remember_crash(*job);
  fail(job, std::move(error));
}

// Its data is still there, so it only waits for a worker; being the oldest, it is the next to run.
void Dispatcher::retry(const JobPointer& job, bool crashed, Error why) {
  KEDGE_FAIL_POINT("job.retry.before");
  job->state = JobState::kQueued, job->lease = ++last_lease_;   // a late word from the dead worker is stale
  write(job, {.state = JobState::kQueued,
              .reason = std::string(schema::error_code_name(why.code)),
              .error = std::move(why),
              .new_lease = job->lease,
              .crashed = crashed});
  make_ready(job);
  KEDGE_FAIL_POINT("job.retry.after");
}

}  // namespace kedge::server
