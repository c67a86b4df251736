// The life of every job that has not ended: see dispatcher.h. The workers' side is in dispatcher_workers.cc.
#include "server/jobs/dispatcher.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "schemas/error.h"
#include "schemas/quota.h"
#include "server/data/flight.h"
#include "server/jobs/active_job.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::size_t kMaxBacklog = 10'000;   // beyond, events that are not state changes are dropped
constexpr std::chrono::seconds kCancelWait{5};
constexpr std::chrono::hours kCrashMemory{24};   // after a restart, specs that killed workers longer ago are tried again

}  // namespace

Dispatcher::Dispatcher(Store& store, DispatcherOptions options)
    : store_(store), options_(std::move(options)), observer_(options_.observer ? *options_.observer : nobody_), last_lease_(store.last_lease()),
      fetch_pool_(std::make_unique<FetchPool>(kMostLocal + kMostFetches)),
      clock_(std::make_unique<DeadlineClock>([this](const std::string& id) { deadline_reached(id); })) {
  set_limits(options_.tenants, options_.deadlines);
  const std::lock_guard lock(mutex_);   // workers that are quick wait here until supervisor_ is set
  recover();
  supervisor_ = std::make_unique<Supervisor>(options_.workers, options_.devices, *this);
}

Dispatcher::~Dispatcher() {
  std::vector<std::stop_source> fetches;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [id, job] : jobs_) fetches.push_back(job->stop);
  }
  for (std::stop_source& fetch : fetches) fetch.request_stop();
  supervisor_.reset();   // a result that is being published still ends its job
  fetch_pool_.reset();
  clock_.reset();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, job] : jobs_) {
      if (schema::is_final(job->state) || job->state == JobState::kQueued) continue;
      write(job, {.state = job->cancel_requested ? JobState::kCancelled : JobState::kQueued,
                  .reason = job->cancel_requested ? "" : "SERVER_STOPPED", .new_lease = ++last_lease_});
    }
  }
  store_.close();
}

void Dispatcher::recover() {
  const std::string wall = now();
  crashes_by_spec_ = store_.crashes_since(format_time(std::chrono::system_clock::now() - kCrashMemory));
  for (OpenJob& open : store_.take_open_jobs()) {
    auto job = std::make_shared<ActiveJob>();
    const std::chrono::duration<double> age(seconds_between(open.created, wall));
    job->id = open.id, job->wish = open.wish, job->tenant = open.tenant, job->crashes = open.crashes;
    job->digest = open.digest, job->trace = open.trace, job->deadlines = open.deadlines;
    job->submitted = job->waiting_since = Clock::now() - std::chrono::duration_cast<Clock::duration>(age);
    jobs_[job->id] = job;
    ++open_[job->tenant];
    job->supply = supply_of(open.dataset, job->tenant);
    queue_.push(job->id, job->queue_key(), job->supply);
    arm_queue(job);
  }
  start_fetches();
}

void Dispatcher::check_quota(const std::string& tenant) const {
  const auto open = open_.find(tenant);
  if (open_jobs_per_tenant_ == 0 || open == open_.end() || open->second < open_jobs_per_tenant_) return;
  throw schema::QuotaExceeded(
      fmt::format("{} jobs are waiting or running, at most {} may; wait for some to end", open->second, open_jobs_per_tenant_),
      {.name = "jobs", .unit = "concurrent-requests", .most = open_jobs_per_tenant_});
}

void Dispatcher::require_room(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  check_quota(tenant);
}

void Dispatcher::submit(NewJob given, Submitter submitter) {
  KEDGE_FAIL_POINT("job.submit.before");
  auto active = std::make_shared<ActiveJob>();
  active->id = given.job.id, active->wish = given.job.spec.device, active->tenant = given.tenant;
  active->digest = given.digest, active->trace = given.trace, active->deadlines = given.job.spec.deadlines;
  active->submitted = active->waiting_since = Clock::now();
  active->ended = std::move(submitter.ended);
  active->supply = supply_of(given.job.spec.dataset, given.tenant);
  struct Submission {
    schema::Job answer;   // ready, so that what is on disk is told without needing memory
    NewJob job;
    std::optional<schema::Job> first;   // that the key already stands for
  };
  // Behind others it shares a sync, which its run would only delay. Of two at once with one key both may begin, and one is dropped.
  const bool may_begin = store_.backlog() == 0 && (given.idempotency_key.empty() || !store_.has_key(given.tenant, given.idempotency_key));
  const bool has_time = may_begin && active->ended && given.idempotency_key.empty();   // or a second one would begin meanwhile
  schema::Job answer{.id = given.job.id, .spec = given.shown ? *given.shown : given.job.spec};
  const auto shared = std::make_shared<Submission>(Submission{std::move(answer), std::move(given), {}});   // by the callbacks of one write
  {
    const std::lock_guard lock(mutex_);
    check_quota(active->tenant);
    shared->answer.created = shared->job.job.created = now();
    if (may_begin) active->unsaved = {shared, &shared->job.job.spec};
    std::size_t& open = open_[active->tenant];   // first, so that nothing is half done where memory ends
    jobs_[active->id] = active;
    ++open;
  }
  store_.enqueue({.job = active->id,
                  .apply = [shared](StoreWriter& writer) { shared->first = writer.insert(shared->job); },
                  .committed =
                      [this, active, shared, submitted = std::move(submitter.submitted)] {
                        shared->first ? drop(active) : stored(active);
                        if (submitted) submitted(std::move(shared->first ? *shared->first : shared->answer));
                      },
                  .refused =
                      [this, active, failed = std::move(submitter.failed)](const Error& error) {
                        drop(active);
                        if (failed) failed(error);
                      },
                  .has_time = has_time});
  if (may_begin) begin(active);
  KEDGE_FAIL_POINT("job.submit.after");
}

// Of what it does nothing stays: it has no row that a write of its would change.
void Dispatcher::drop(const JobPointer& job) {
  std::stop_source fetch(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    if (!job->has_begun) {
      jobs_.erase(job->id);
      close(job->tenant);
      tell_ended(*job);
    } else if (schema::is_final(job->state)) {
      options_.files->retract(job->id, job->lease, JobFiles::model_id_of(job->id));
      tell_ended(*job);
    } else {
      fetch = job->stop;
      stop(job);
    }
  }
  fetch.request_stop();
}

void Dispatcher::close(const std::string& tenant) {
  const auto open = open_.find(tenant);
  if (open != open_.end() && --open->second == 0) open_.erase(open);
}

void Dispatcher::stored(const JobPointer& job) {
  observer_.job_submitted();
  {
    const std::lock_guard lock(mutex_);
    job->unsaved.reset();
  }
  begin(job);
}

// A job begins while it is on its way to the disk: what it writes comes after it, and until then nobody knows of it.
void Dispatcher::begin(const JobPointer& job) {
  const engine::UsesReserve reserve;
  const std::lock_guard lock(mutex_);
  if (stopping_ || job->has_begun || !jobs_.contains(job->id) || job->state != JobState::kQueued) return;
  job->has_begun = true;
  if (fail_poison(job)) return;
  queue_.push(job->id, job->queue_key(), job->supply);
  arm_queue(job);
  if (devices_known_) fail_impossible();
  start_fetches();
}

Supply Dispatcher::supply_of(const schema::DatasetRef& ref, const std::string& tenant) const {
  if (!options_.needs_network || KEDGE_CONTROL("share-no-fetches")) return Supply::kLocal;
  try {
    return options_.needs_network(ref, tenant) ? Supply::kNetwork : Supply::kLocal;
  } catch (const Error&) {   // a reference that cannot be: its fetch says why
    return Supply::kLocal;
  }
}

FetchSlots& Dispatcher::slots_of(const ActiveJob& job) { return job.supply == Supply::kNetwork ? network_ : local_; }

// What needs no network never waits for what does.
void Dispatcher::start_fetches() {
  start_fetches(Supply::kLocal, local_);
  start_fetches(Supply::kNetwork, network_);
}

void Dispatcher::start_fetches(Supply supply, FetchSlots& slots) {
  const JobQueue::Fetching fetching{.may = [&](std::string_view tenant) { return slots.has_room(tenant); },
                                    .running = [&](std::string_view tenant) { return slots.running(tenant); }};
  while (!stopping_ && !draining_ && !slots.is_full()) {
    const std::optional<std::string> id = queue_.take_to_fetch(supply, fetching);
    if (!id) return;
    const JobPointer job = jobs_.at(*id);
    job->leave_queue(Clock::now());
    job->state = JobState::kFetching;
    arm(job, limits(*job).fetch);
    write(job, {.state = JobState::kFetching});
    if (takes_at_hand(job)) continue;
    slots.take(job->tenant);
    fetch_pool_->run([this, job] { fetch(job); });
  }
}

// Spares a job that is on its way to the disk the way through another thread, where its data set is in the cache.
bool Dispatcher::takes_at_hand(const JobPointer& job) {
  if (!options_.recall || !job->unsaved || schema::model_of(job->unsaved->task)) return false;
  KEDGE_FAIL_POINT("job.fetch.before");
  std::optional<AcquiredDataset> data = options_.recall(job->unsaved->dataset, job->tenant);
  if (!data) return false;
  KEDGE_FAIL_POINT("job.fetch.after");
  observer_.data_acquired(data->cold);
  job->spec = *job->unsaved, job->data = std::move(*data);
  make_ready(job);
  return true;
}

std::optional<schema::JobSpec> Dispatcher::spec_of(const JobPointer& job) const {
  std::shared_ptr<const schema::JobSpec> unsaved;
  {
    const std::lock_guard lock(mutex_);
    unsaved = job->unsaved;
  }
  return unsaved ? std::optional(*unsaved) : store_.spec(job->id);
}

void Dispatcher::fetch(const JobPointer& job) {
  const auto emit = [this, job](schema::EventBody body) {
    const std::lock_guard lock(mutex_);
    if (job->state == JobState::kFetching) append(job, std::move(body));
  };
  try {
    std::optional<schema::JobSpec> spec = spec_of(job);
    KEDGE_FAIL_POINT("job.fetch.before");
    if (!spec) throw Error(ErrorCode::kInternal, fmt::format("the job store has lost the spec of {}", job->id));
    if (const std::string* model = schema::model_of(spec->task); model && options_.check_model) options_.check_model(*model);
    AcquiredDataset data = options_.acquire(spec->dataset, emit, job->stop.get_token(), {.tenant = job->tenant, .trace = job->trace});
    KEDGE_FAIL_POINT("job.fetch.after");
    fetched(job, std::move(*spec), std::move(data));
  } catch (...) {
    const engine::UsesReserve reserve;
    fetch_failed(job, current_data_error());
  }
}

void Dispatcher::fetched(const JobPointer& job, schema::JobSpec spec, AcquiredDataset data) {
  const engine::UsesReserve reserve;
  const std::lock_guard lock(mutex_);
  slots_of(*job).give_back(job->tenant);
  observer_.data_acquired(data.cold);
  if (!stopping_ && job->state == JobState::kFetching) {
    if (data.cold) {
      append(job, schema::TimingEvent{.phase = "download", .seconds = data.download_seconds});
      append(job, schema::TimingEvent{.phase = "parse", .seconds = data.parse_seconds});
    }
    job->spec = std::move(spec), job->data = std::move(data);
    make_ready(job);
  }
  start_fetches();
}

void Dispatcher::fetch_failed(const JobPointer& job, const Error& error) {
  const std::lock_guard lock(mutex_);
  slots_of(*job).give_back(job->tenant);
  if (!stopping_ && job->state == JobState::kFetching) fail(job, error);
  start_fetches();
}

void Dispatcher::stop(const JobPointer& job) {
  job->cancel_requested = true;
  if (job->state == JobState::kRunning)
    supervisor_->cancel(job->device, job->id);
  else
    finish(job, {.state = JobState::kCancelled});
}

bool Dispatcher::cancel(std::string_view id) {
  const engine::UsesReserve reserve;
  KEDGE_FAIL_POINT("job.cancel.before");
  std::stop_source fetch(std::nostopstate);
  auto on_disk = std::make_shared<std::promise<void>>();   // shared with the write, which may come later than we wait
  const auto tell = [on_disk] { on_disk->set_value(); };
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return false;
    const JobPointer job = found->second;
    if (schema::is_final(job->state))
      throw Error(ErrorCode::kConflict, fmt::format("job {} has ended: {}", id, schema::job_state_name(job->state)));
    if (KEDGE_CONTROL("forget-cancels")) return true;
    fetch = job->stop;
    stop(job);
    store_.enqueue({.apply = [id = job->id](StoreWriter& writer) { writer.request_cancel(id); }, .committed = tell});
  }
  fetch.request_stop();   // not under the lock: what it calls is the data set cache's
  if (on_disk->get_future().wait_for(kCancelWait) != std::future_status::ready)
    throw Error(ErrorCode::kUnavailable, fmt::format("job {} is being cancelled, but the disk does not take the note", id));
  KEDGE_FAIL_POINT("job.cancel.after");
  return true;
}

void Dispatcher::succeed(const JobPointer& job, schema::Result result, std::optional<NewModel> model) {
  schema::Timings& timings = result.timings;
  timings.queued = job->queued_seconds;
  timings.download = job->data.download_seconds, timings.parse = job->data.parse_seconds, timings.cold = job->data.cold;
  timings.total = std::chrono::duration<double>(Clock::now() - job->submitted).count();
  observer_.job_ran(timings, std::chrono::duration<double>(Clock::now() - job->finalizing_since).count());
  finish(job, {.state = JobState::kSucceeded, .held_lease = job->lease, .result = std::move(result), .model = std::move(model)});
}

void Dispatcher::fail(const JobPointer& job, Error error) {
  finish(job, {.state = JobState::kFailed, .reason = std::string(schema::error_code_name(error.code)), .error = error});
}

void Dispatcher::finish(const JobPointer& job, StateChange change) {
  close(job->tenant);
  arm(job, 0);
  job->state = change.state;
  job->spec.reset();
  queue_.remove(job->id, job->queue_key());
  write(job, std::move(change));
}

void Dispatcher::fail_impossible() {
  if (stopping_) return;   // the clock may be gone; the next start asks again
  for (const std::string& wish : queue_.wishes()) {
    const std::string reason = devices_.missing_reason(wish);
    if (reason.empty()) continue;
    const Error error(ErrorCode::kDeviceUnavailable, reason, "device");
    for (const std::string& id : queue_.jobs_of(wish)) fail(jobs_.at(id), error);
  }
}

void Dispatcher::append(const JobPointer& job, schema::EventBody body) {
  if (const auto* progress = std::get_if<schema::ProgressEvent>(&body))
    if (!job->progress.passes(*progress, Clock::now())) return;
  if (store_.backlog() > kMaxBacklog) return;
  store_.enqueue({.job = job->id, .apply = [id = job->id, lease = job->lease, time = now(), body = std::move(body)](
                                               StoreWriter& writer) { writer.append(id, lease, time, body); }});
}

void Dispatcher::write(const JobPointer& job, StateChange change) {
  change.job = job->id;
  change.time = now();
  const schema::JobState state = change.state;
  const std::string reason = change.reason;
  const Error error = change.error.value_or(Error());
  if (change.starts_attempt && ++job->attempts == 1) job->started = change.time;
  struct Step {
    StateChange change;
    bool took_place = false;
  };
  const auto step = std::make_shared<Step>(Step{std::move(change)});   // shared by the callbacks of one write
  StoreWrite write{.job = job->id, .apply = [step](StoreWriter& writer) { step->took_place = writer.change(step->change); }};
  if (schema::is_final(state))
    write.committed = [this, job, step] {
      {
        const std::lock_guard lock(mutex_);
        jobs_.erase(job->id);
      }
      if (step->took_place && job->ended) tell_end(*job, step->change);
      tell_ended(*job);
      if (step->change.model) options_.models->stored(*step->change.model);
    };
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
                      .total_seconds = std::chrono::duration<double>(Clock::now() - job->submitted).count()});
}

void Dispatcher::tell_ended(const ActiveJob& job) const {
  if (options_.ended) options_.ended(job.id);
}

// Takes what it tells.
void Dispatcher::tell_end(ActiveJob& job, StateChange& change) {
  try {
    std::exchange(job.ended, nullptr)({.state = change.state,
                                       .reason = change.reason,
                                       .error = change.error,
                                       .attempts = job.attempts,
                                       .started = job.started,
                                       .ended = change.time,
                                       .result = std::move(change.result)});
  } catch (const std::bad_alloc&) {   // who waits finds the end in the store
  }
}

// Never goes back, so that the times of a job's events do not.
std::string Dispatcher::now() {
  const auto clock = std::chrono::system_clock::now();
  last_time_ = KEDGE_CONTROL("times-go-back") ? clock : std::max(last_time_, clock);
  return format_time(last_time_);
}

bool Dispatcher::is_open(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return jobs_.contains(id);
}

std::vector<schema::DeviceEntry> Dispatcher::devices() const {
  const std::lock_guard lock(mutex_);
  return devices_.entries();
}

Load Dispatcher::load() const {
  using enum JobState;
  Load load;
  for (const JobState state : {kQueued, kFetching, kRunning, kFinalizing}) load.jobs[schema::job_state_name(state)] = 0;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (const auto& [id, job] : jobs_) {
    if (schema::is_final(job->state)) continue;
    ++load.jobs[schema::job_state_name(job->state)];
    if (job->state == kQueued || (job->state == kFetching && job->spec))
      load.oldest_wait_seconds = std::max(load.oldest_wait_seconds, std::chrono::duration<double>(now - job->waiting_since).count());
  }
  for (const auto& [device, worker] : workers_) load.idle_workers += worker.idle, load.busy_workers += worker.job != nullptr;
  for (const schema::DeviceEntry& device : devices_.entries()) load.missing_devices += !device.missing.empty();
  return load;
}

std::string Dispatcher::missing_reason(std::string_view wish) const {
  const std::lock_guard lock(mutex_);
  return devices_known_ ? devices_.missing_reason(wish) : std::string();
}

}  // namespace kedge::server
