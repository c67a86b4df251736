// The parts of a job's life over a store of their own, without a device or a worker process.
#pragma once

#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/admission.h"
#include "server/jobs/fetching.h"
#include "server/jobs/job_table.h"
#include "server/jobs/model_journal.h"
#include "server/jobs/publishing.h"
#include "server/jobs/running.h"
#include "tests/support/jobs_service.h"

namespace kedge::tests {

// The steps that a table has reported, as "job_1 fetching". Thread safe.
class StepRecorder final : public server::JobObserver {
 public:
  void job_step(const server::JobStep& step) override {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::string(step.job) + " " + std::string(schema::job_state_name(step.state)));
  }
  std::vector<std::string> steps() const {
    const std::lock_guard lock(mutex_);
    return steps_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> steps_;
};

inline server::AcquiredDataset data_at_once(const schema::DatasetRef&, const std::function<void(schema::EventBody)>&,
                                            std::stop_token, const server::DataCaller&) {
  return {.path = "/dev/null"};
}

// What a promise is kept with. Errors: std::runtime_error when that takes too long.
template <typename Value>
Value kept(std::promise<Value>& promise) {
  std::future<Value> future = promise.get_future();
  if (future.wait_for(kPatience) != std::future_status::ready) throw std::runtime_error("a promise was not kept");
  return future.get();
}

// Members come in the order in which server::Dispatcher has them.
struct JobParts {
  explicit JobParts(const std::filesystem::path& dir, server::DataSource data = {.acquire = data_at_once},
                    server::TenantBytes* bytes = nullptr)
      : files(dir),
        store(dir, [](const std::string&) {}),
        models(store, files),
        table(store, {.deadline_reached = [](const std::string&) {}, .observer = &recorder}),
        publishing(table, files, models, bytes),
        running(table, publishing, files, [this](const server::TableLock& held) { fetching.start(held); }),
        fetching(store, table, running, std::move(data)),
        admission(store, table, fetching, running, files) {}

  ~JobParts() {
    table.begin_stop(table.lock());
    fetching.request_stop();
    running.stop();
    fetching.stop();
    table.close();
  }

  // What was written before is on disk, and what waited for it has been called.
  void settle() {
    std::promise<void> done;
    store.enqueue({.apply = [](server::StoreWriter&) {}, .committed = [&] { done.set_value(); }});
    kept(done);
  }

  // A job that the store and the table know and no part has: in state queued.
  server::JobPointer add(const std::string& id, const std::string& tenant = {}) {
    server::NewJob row{
        .job = {.id = id, .spec = job_spec("Succeed")}, .tenant = tenant, .idempotency_key = {}, .digest = "d"};
    auto job = std::make_shared<server::ActiveJob>();
    job->id = id, job->tenant = tenant, job->wish = "auto", job->digest = "d", job->has_begun = true;
    job->submitted = job->waiting_since = server::ActiveJob::Clock::now();
    const server::TableLock held = table.lock();
    row.job.created = table.now(held);
    table.add(held, job);
    store.enqueue({.job = id, .apply = [row](server::StoreWriter& writer) { writer.insert(row); }});
    return job;
  }

  schema::JobState state_of(const server::JobPointer& job) const {
    const server::TableLock held = table.lock();
    return job->state;
  }

  StepRecorder recorder;
  const server::JobFiles files;
  server::Store store;
  server::ModelJournal models;
  server::JobTable table;
  server::Publishing publishing;
  server::Running running;
  server::Fetching fetching;
  server::Admission admission;
};

}   // namespace kedge::tests
