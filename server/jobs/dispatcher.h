// The life of every job that has not ended: its parts put together in the order in which a job passes through them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/job.h"
#include "server/data/tenant_bytes.h"
#include "server/jobs/admission.h"
#include "server/jobs/fetching.h"
#include "server/jobs/job_files.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/job_table.h"
#include "server/jobs/load.h"
#include "server/jobs/model_journal.h"
#include "server/jobs/publishing.h"
#include "server/jobs/running.h"
#include "server/jobs/service_limits.h"
#include "server/store/store.h"

namespace kedge::server {

// Files, models, bytes and observer outlive the dispatcher.
struct DispatcherOptions {
  WorkerOptions workers;
  std::vector<std::string> devices;   // to run workers for; empty: all
  DataSource data;
  std::function<void(const std::string& job)> ended;   // as JobTableOptions has it
  const JobFiles* files = nullptr;
  ModelJournal* models = nullptr;
  TenantBytes* bytes = nullptr;      // in which what jobs leave counts; null: nothing is counted
  TenantLimits tenants;              // at first, as are the deadlines: see set_limits()
  schema::Deadlines deadlines;       // that no job may exceed; 0: none
  JobObserver* observer = nullptr;   // null: nothing listens
};

// What JobService uses of the four parts. It decides nothing itself. Thread safe.
class Dispatcher {
 public:
  // Takes up the store's open jobs. `store` outlives this object.
  Dispatcher(Store& store, DispatcherOptions options);
  // Ends workers and fetches, puts interrupted jobs back into the queue and closes the store.
  ~Dispatcher();

  // As Admission's.
  void require_room(const std::string& tenant) const { admission_.require_room(tenant); }
  void submit(NewJob job, Submitter submitter) { admission_.submit(std::move(job), std::move(submitter)); }
  bool cancel(std::string_view id) { return admission_.cancel(id); }

  // Starts nothing more. drain() also waits for what runs, at most so long; the rest is queued again by the destructor.
  void begin_drain();
  void drain(std::chrono::milliseconds patience);
  bool draining() const;

  std::vector<schema::DeviceEntry> devices() const;
  bool is_open(std::string_view id) const;   // its end is not on disk yet
  Load load() const;
  void set_limits(const TenantLimits& tenants, const schema::Deadlines& deadlines);
  std::string missing_reason(std::string_view wish) const;   // empty: a device serves the wish, or it is not known yet

 private:
  JobTableOptions table_options(const DispatcherOptions& options);
  void deadline_reached(const std::string& id);

  JobTable table_;   // first: the others use it
  Publishing publishing_;
  Running running_;
  Fetching fetching_;
  Admission admission_;
};

}   // namespace kedge::server
