// The life of every job that has not ended: its queue, its data, its worker, its cancel. Decides; the store remembers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/job.h"
#include "server/data/dataset_cache.h"
#include "server/data/tenant_bytes.h"
#include "server/jobs/deadline_clock.h"
#include "server/jobs/devices.h"
#include "server/jobs/fetch_pool.h"
#include "server/jobs/fetch_slots.h"
#include "server/jobs/job_end.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/load.h"
#include "server/jobs/job_files.h"
#include "server/jobs/model_journal.h"
#include "server/jobs/queue.h"
#include "server/store/store.h"
#include "server/jobs/supervisor.h"

namespace kedge::server {

struct ActiveJob;

// Files, models and observer outlive the dispatcher that is given them.
struct DispatcherOptions {
  WorkerOptions workers;
  std::vector<std::string> devices;   // to run workers for; empty: all
  // DatasetCache::acquire
  std::function<AcquiredDataset(const schema::DatasetRef&, const std::function<void(schema::EventBody)>&, std::stop_token,
                                const DataCaller& caller)>
      acquire;
  // DatasetCache::recall and needs_network; may be empty. The first is called under the dispatcher's lock.
  std::function<std::optional<AcquiredDataset>(const schema::DatasetRef&, const std::string& tenant)> recall;
  std::function<bool(const schema::DatasetRef&, const std::string& tenant)> needs_network;
  std::function<void(const std::string& job)> ended;   // its end is on disk, or it was never stored; must not block; may be empty
  std::function<void(const std::string& model)> check_model;   // throws for one that must not be used
  const JobFiles* files = nullptr;
  ModelJournal* models = nullptr;
  TenantBytes* bytes = nullptr;           // in which what jobs leave counts; null: nothing is counted
  TenantLimits tenants;                   // at first, as are the deadlines: see set_limits()
  schema::Deadlines deadlines;            // that no job may exceed; 0: none
  JobObserver* observer = nullptr;        // null: nobody
};

// Whom a job's submit tells what became of it, as JobService::submit() says; each may be empty.
struct Submitter {
  std::function<void(schema::Job)> submitted;
  std::function<void(const schema::Error&)> failed;
  std::function<void(JobEnd)> ended;
};

// Thread safe. Each decision is made under one lock and handed to the store in the same order, so the store's order is the
// order of decisions; nothing waits for the disk but submit's acknowledgement and cancel.
class Dispatcher final : public SupervisorListener {
 public:
  // Takes up the store's open jobs. `store` outlives this object.
  Dispatcher(Store& store, DispatcherOptions options);
  // Ends workers and fetches, puts interrupted jobs back into the queue and closes the store.
  ~Dispatcher() override;

  // Errors: schema::QuotaExceeded when the tenant has as many open jobs as it may; so submit().
  void require_room(const std::string& tenant) const;
  void submit(NewJob job, Submitter submitter);
  // False when there is no such open job. kConflict when it is ending.
  bool cancel(std::string_view id);

  // Starts nothing more. drain() also waits for what runs, at most so long; the rest is queued again by the destructor.
  void begin_drain();
  void drain(std::chrono::milliseconds patience);
  bool draining() const;

  std::vector<schema::DeviceEntry> devices() const;
  bool is_open(std::string_view id) const;   // its end is not on disk yet
  Load load() const;
  void set_limits(TenantLimits tenants, const schema::Deadlines& deadlines);
  std::string missing_reason(std::string_view wish) const;   // empty: a device serves the wish, or it is not known yet

 private:
  static constexpr std::size_t kMostLocal = 32, kMostFetches = 64;   // at a time
  using Clock = std::chrono::steady_clock;
  using JobPointer = std::shared_ptr<ActiveJob>;   // shared: a fetch may outlive its cancelled job

  struct Worker {
    bool idle = false;
    JobPointer job;   // that it runs
  };

  // On service threads. The lock is taken inside.
  void devices_known(const std::vector<schema::DeviceEntry>& devices) override;
  void worker_ready(const schema::DeviceEntry& device) override;
  void worker_event(const std::string& device, schema::EventReport report) override;
  void worker_done(const std::string& device, schema::DoneReport report) override;
  void worker_failed(const std::string& device, schema::FailedReport report) override;
  void worker_lost(const std::string& device, const WorkerLoss& loss) override;
  void worker_unavailable(const std::string& device, const std::string& why) override;
  void stored(const JobPointer& job);
  void begin(const JobPointer& job);
  std::optional<schema::JobSpec> spec_of(const JobPointer& job) const;   // empty: the store has lost it
  void fetch(const JobPointer& job);
  void fetched(const JobPointer& job, schema::JobSpec spec, AcquiredDataset data);
  void fetch_failed(const JobPointer& job, const schema::Error& error);
  void deadline_reached(const std::string& id);
  JobPointer finalize(const std::string& device, schema::DoneReport& report);   // null: there is nothing to publish
  struct Published {
    std::optional<NewModel> model;
    TenantBytes::Reservation model_bytes, artifact_bytes;
  };
  Published publish(const ActiveJob& job, schema::DoneReport& report) const;
  TenantBytes::Reservation reserve_model(const ActiveJob& job, schema::DoneReport& report) const;
  void tell_ended(const ActiveJob& job) const;
  Supply supply_of(const schema::DatasetRef& ref, const std::string& tenant) const;
  void drop(const JobPointer& job);   // was never stored

  // Under the lock.
  void check_quota(const std::string& tenant) const;
  void close(const std::string& tenant);   // one of its jobs has ended
  void recover();
  void stop(const JobPointer& job);   // it is to end as cancelled; the caller stops its fetch
  void start_fetches();
  void start_fetches(Supply supply, FetchSlots& slots);
  FetchSlots& slots_of(const ActiveJob& job);
  bool takes_at_hand(const JobPointer& job);
  void make_ready(const JobPointer& job);
  void start_runs();
  schema::RunCommand command_for(const ActiveJob& job) const;   // Errors: kNotFound for a model that is gone; the disk's
  void start_run(const JobPointer& job, const std::string& device, Worker& worker);
  JobPointer take_job(const std::string& device, std::int64_t lease);   // null: the lease is stale
  void succeed(const JobPointer& job, schema::Result result, std::optional<NewModel> model);
  void charge(const JobPointer& job);   // the device time of a run that has ended
  void fail(const JobPointer& job, schema::Error error);
  void fail_crashed(const JobPointer& job, schema::Error error);
  void finish(const JobPointer& job, StateChange change);
  void retry(const JobPointer& job, bool crashed, schema::Error why);
  void fail_impossible();   // jobs that wait for a device that is not there
  void append(const JobPointer& job, schema::EventBody body);
  void write(const JobPointer& job, StateChange change);
  static void tell_end(ActiveJob& job, StateChange& change);   // not under the lock
  std::string now();
  schema::Deadlines limits(const ActiveJob& job) const;
  void arm(const JobPointer& job, double limit, double spent = 0);
  void arm_queue(const JobPointer& job);
  bool fail_poison(const JobPointer& job);
  void remember_crash(const ActiveJob& job);
  void forget_crashes(const ActiveJob& job);

  Store& store_;
  const DispatcherOptions options_;
  JobObserver nobody_;
  JobObserver& observer_;

  mutable std::mutex mutex_;   // guards what follows
  bool stopping_ = false, draining_ = false, devices_known_ = false;
  std::condition_variable drained_;   // a worker has no job any more
  std::chrono::system_clock::time_point last_time_{};
  std::int64_t last_lease_ = 0;
  FetchSlots local_{kMostLocal}, network_{kMostFetches};
  std::map<std::string, JobPointer, std::less<>> jobs_;   // until their end is on disk
  JobQueue queue_;
  std::size_t open_jobs_per_tenant_ = 0;   // 0: no bound
  schema::Deadlines deadlines_;            // of any job
  DeviceTable devices_;
  std::map<std::string, Worker> workers_;   // by device
  std::map<std::string, std::size_t> open_;                    // jobs that have not ended, by tenant
  std::map<std::string, std::int64_t> crashes_by_spec_;        // by tenant and digest: jobs that ended with kWorkerCrashed lately

  std::unique_ptr<FetchPool> fetch_pool_;     // set once by the constructor, as are the next two
  std::unique_ptr<DeadlineClock> clock_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace kedge::server
