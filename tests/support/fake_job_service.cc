// A JobService in memory. It takes the place of the real one at link time.
#include "tests/support/fake_job_service.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "schemas/quota.h"

namespace kedge::server {
namespace {

struct FakeJob {
  schema::Job job;
  std::vector<schema::Event> events;
  std::string tenant;
};

struct Subscriber {
  std::string id;
  std::mutex mutex;  // held during a call, so that unsubscribing waits for it
  std::function<void()> wake;
};

}  // namespace

struct Fake {
  std::mutex mutex;
  std::vector<FakeJob> jobs;
  std::vector<std::weak_ptr<Subscriber>> subscribers;
  bool ready = true, has_room = true, checks_are_held = false;
  std::condition_variable_any checks_released;
  tests::HeldChecks checks;
  std::uint64_t removals = 0;
  std::size_t lookups = 0, n_ids = 0;
  std::map<std::string, std::int64_t, std::less<>> changed;   // when each job changed in the list
  std::int64_t last_change = 0;
  SubmitOptions last_options;
  std::map<std::string, std::string, std::less<>> traces;   // by job
  std::map<std::string, schema::Job> keys;   // by tenant and key: the first answer
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  FakeJob* find(std::string_view id) {
    const auto found =
        std::find_if(jobs.begin(), jobs.end(), [&](const FakeJob& j) { return j.job.id == id; });
    return found == jobs.end() ? nullptr : &*found;
  }

  void append(std::string_view id, schema::EventBody body) {
    std::vector<std::shared_ptr<Subscriber>> woken;
    {
      std::lock_guard lock(mutex);
      FakeJob* entry = find(id);
      if (const auto* state = std::get_if<schema::StateEvent>(&body)) {
        entry->job.state = state->state;
        changed[std::string(id)] = ++last_change;
        entry->job.reason = state->reason;
        entry->job.error = state->error;
      } else if (const auto* result = std::get_if<schema::ResultEvent>(&body)) {
        entry->job.result = result->result;
      }
      entry->events.push_back(
          {static_cast<std::int64_t>(entry->events.size()) + 1, "2026-01-02T03:04:05.678Z", std::move(body)});
      for (const auto& weak : subscribers)
        if (auto subscriber = weak.lock(); subscriber && (subscriber->id == id || subscriber->id.empty()))
          woken.push_back(std::move(subscriber));
    }
    for (const auto& subscriber : woken) {
      std::lock_guard lock(subscriber->mutex);
      if (subscriber->wake) subscriber->wake();
    }
  }
};

struct JobService::Impl : Fake {};

namespace {
std::mutex fakes_mutex;
std::map<const JobService*, Fake*> fakes;   // tests reach the private part through it
Fake& fake_of(const JobService& jobs) {
  std::lock_guard lock(fakes_mutex);
  return *fakes.at(&jobs);
}
}  // namespace

JobService::JobService(JobServiceOptions) : impl_(std::make_unique<Impl>()) {
  std::lock_guard lock(fakes_mutex);
  fakes[this] = impl_.get();
}

JobService::~JobService() {
  std::lock_guard lock(fakes_mutex);
  fakes.erase(this);
}

bool JobService::takes_long_to_validate(const schema::JobSpec& spec) const {
  return std::holds_alternative<schema::GridSearch>(spec.task);
}

// Refuses n_estimators 0, as Pipeline::build would.
void JobService::validate(const schema::JobSpec& spec, std::stop_token stop) const {
  {
    std::unique_lock lock(impl_->mutex);
    const bool waits = impl_->checks_are_held && takes_long_to_validate(spec);
    impl_->checks.n_held += waits;
    if (waits && !impl_->checks_released.wait(lock, stop, [&] { return !impl_->checks_are_held; })) ++impl_->checks.n_stopped;
    impl_->checks.n_held -= waits;
  }
  if (stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the check of the job was stopped");
  for (std::size_t i = 0; i < spec.pipeline.size(); ++i)
    for (const auto& [name, value] : spec.pipeline[i].params)
      if (name == "n_estimators" && value == schema::Value(0))
        throw schema::Error(schema::ErrorCode::kInvalidValue,
                            "RandomForestClassifier: n_estimators is 0, must be at least 1",
                            "pipeline[" + std::to_string(i) + "].params.n_estimators");
}

// While it is not ready, the disk takes nothing.
std::string JobService::submit(schema::JobSpec spec, std::function<void(schema::Job)> submitted,
                               std::function<void(const schema::Error&)> failed, const SubmitOptions& options) {
  if (!options.is_valid) validate(spec);
  std::lock_guard lock(impl_->mutex);
  impl_->last_options = options;
  const std::string id = options.id.empty() ? "job_" + std::to_string(impl_->jobs.size() + 1) : options.id;
  if (!impl_->ready) {
    failed(schema::Error(schema::ErrorCode::kStorageFull, "the disk is full"));
    return id;
  }
  const std::string key = options.tenant + "\n" + options.idempotency_key;
  if (const auto known = impl_->keys.find(key); known != impl_->keys.end() && !options.idempotency_key.empty()) {
    if (known->second.spec != spec)
      failed(schema::Error(schema::ErrorCode::kIdempotencyKeyReused, "the key was used for another job"));
    else
      impl_->threads.emplace_back([job = known->second, submitted = std::move(submitted)]() mutable { submitted(std::move(job)); });
    return id;
  }
  schema::Job job;
  job.id = id;
  job.spec = std::move(spec);
  job.created = "2026-01-02T03:04:05.678Z";
  impl_->traces[job.id] = options.trace;
  impl_->changed[job.id] = ++impl_->last_change;
  impl_->jobs.push_back({job, {{1, job.created, schema::StateEvent{.state = schema::JobState::kQueued}}}, options.tenant});
  if (!options.idempotency_key.empty()) impl_->keys[key] = job;
  impl_->threads.emplace_back([job, submitted = std::move(submitted)]() mutable { submitted(std::move(job)); });
  return id;
}

std::string JobService::new_id() {
  std::lock_guard lock(impl_->mutex);
  return "job_new" + std::to_string(++impl_->n_ids);
}

std::string JobService::trace(std::string_view id) const {
  std::lock_guard lock(impl_->mutex);
  const auto found = impl_->traces.find(id);
  return found == impl_->traces.end() ? std::string() : found->second;
}

schema::DatasetPreview JobService::preview(const schema::PreviewRequest&, const std::string&, std::int64_t n_rows, std::stop_token) const {
  return {.name = "fake", .rows = 150, .nColumns = 1, .countedRows = n_rows, .columns = {{.name = "length", .type = "number", .role = "feature"}}};
}

void JobService::require_room(const std::string&) const {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->has_room)
    throw schema::QuotaExceeded("1 jobs are waiting or running, at most 1 may", {.name = "jobs", .unit = "concurrent-requests", .most = 1});
}

std::optional<std::string> JobService::tenant(std::string_view id) const {
  std::lock_guard lock(impl_->mutex);
  const FakeJob* entry = impl_->find(id);
  return entry ? std::optional(entry->tenant) : std::nullopt;
}

std::optional<std::string> JobService::model_tenant(std::string_view) const { return std::nullopt; }
std::shared_ptr<const OwnedModel> JobService::known_model(std::string_view) const {
  return nullptr;
}
std::shared_ptr<const OwnedModel> JobService::owned_model(std::string_view) const {
  return nullptr;
}

ModelRegistry& JobService::registry() {
  throw std::logic_error("the jobs of these tests register no model");
}

std::uint64_t JobService::removals() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->removals;
}

std::optional<OwnedJob> JobService::find_owned(std::string_view id) const {
  std::lock_guard lock(impl_->mutex);
  ++impl_->lookups;
  const FakeJob* entry = impl_->find(id);
  return entry ? std::optional(OwnedJob{entry->job, entry->tenant}) : std::nullopt;
}

std::optional<schema::Job> JobService::find(std::string_view id) const {
  std::optional<OwnedJob> found = find_owned(id);
  return found ? std::optional(std::move(found->job)) : std::nullopt;
}

schema::JobPage JobService::list(const JobFilter& filter) const {
  std::lock_guard lock(impl_->mutex);
  schema::JobPage page;
  for (auto entry = impl_->jobs.rbegin(); entry != impl_->jobs.rend(); ++entry)
    if ((!filter.state || *filter.state == entry->job.state) && filter.tenant.value_or(entry->tenant) == entry->tenant) page.jobs.push_back(entry->job);
  if (static_cast<std::int64_t>(page.jobs.size()) > filter.page_size) {
    page.jobs.resize(static_cast<std::size_t>(filter.page_size));
    page.nextPageToken = page.jobs.back().id;
  }
  return page;
}

JobChanges JobService::changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant) const {
  std::lock_guard lock(impl_->mutex);
  JobChanges changes{.jobs = {}, .position = impl_->last_change};
  for (const FakeJob& entry : impl_->jobs)
    if (impl_->changed[entry.job.id] > after && tenant.value_or(entry.tenant) == entry.tenant)
      changes.jobs.push_back({.position = impl_->changed[entry.job.id], .job = entry.job});
  std::ranges::sort(changes.jobs, {}, &JobChanges::Changed::position);
  changes.more = changes.jobs.size() > limit;
  if (changes.more) {
    changes.jobs.resize(limit);
    changes.position = changes.jobs.back().position;
  }
  return changes;
}

void JobService::check_surroundings(const schema::JobSpec& spec) const {
  if (spec.device.starts_with("cuda"))
    throw schema::Error(schema::ErrorCode::kDeviceUnavailable, "there is no GPU", "device");
}

void JobService::cancel(std::string_view id) {
  const auto job = find(id);
  if (!job) throw schema::Error(schema::ErrorCode::kNotFound, "there is no such job");
  if (is_final(job->state)) throw schema::Error(schema::ErrorCode::kConflict, "the job has ended");
  impl_->append(id, schema::StateEvent{.state = schema::JobState::kCancelled});
}

std::vector<schema::Event> JobService::events(std::string_view id, std::int64_t after,
                                              std::size_t limit) const {
  std::lock_guard lock(impl_->mutex);
  std::vector<schema::Event> out;
  if (const FakeJob* entry = impl_->find(id))
    for (const auto& event : entry->events)
      if (event.id > after && out.size() < limit) out.push_back(event);
  return out;
}

bool JobService::is_open(std::string_view id) const {
  const std::lock_guard lock(impl_->mutex);
  const FakeJob* entry = impl_->find(id);
  return entry && !is_final(entry->job.state);
}

std::shared_ptr<void> JobService::subscribe(std::string_view id, std::function<void()> wake) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->id = id;
  subscriber->wake = std::move(wake);
  {
    std::lock_guard lock(impl_->mutex);
    impl_->subscribers.push_back(subscriber);
  }
  return std::shared_ptr<void>(nullptr, [subscriber](void*) {
    std::lock_guard lock(subscriber->mutex);
    subscriber->wake = nullptr;
  });
}

std::vector<schema::DeviceEntry> JobService::devices() const {
  return {{.id = "cpu", .name = "a fake", .threads = 2}};
}

std::string JobService::unready_reason() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->ready ? "" : "the disk is full";
}

}  // namespace kedge::server

namespace kedge::tests {

void append_event(server::JobService& jobs, std::string_view id, schema::EventBody body) {
  server::fake_of(jobs).append(id, std::move(body));
}

void set_ready(server::JobService& jobs, bool ready) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  fake.ready = ready;
}

void set_room(server::JobService& jobs, bool has_room) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  fake.has_room = has_room;
}

void hold_checks(server::JobService& jobs, bool held) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  fake.checks_are_held = held;
  fake.checks_released.notify_all();
}

HeldChecks held_checks(server::JobService& jobs) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  return fake.checks;
}

void remove_job(server::JobService& jobs, std::string_view id) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  std::erase_if(fake.jobs, [&](const server::FakeJob& entry) { return entry.job.id == id; });
  ++fake.removals;
}

server::SubmitOptions last_options(server::JobService& jobs) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  return fake.last_options;
}

std::size_t lookup_count(server::JobService& jobs) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  return fake.lookups;
}

std::size_t subscriber_count(server::JobService& jobs) {
  server::Fake& fake = server::fake_of(jobs);
  std::lock_guard lock(fake.mutex);
  return static_cast<std::size_t>(std::count_if(fake.subscribers.begin(), fake.subscribers.end(),
                                                [](const auto& s) { return !s.expired(); }));
}

}  // namespace kedge::tests
