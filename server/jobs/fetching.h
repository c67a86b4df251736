// The second part of a job's life: it waits for its turn and gets its data set.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "schemas/event.h"
#include "schemas/job.h"
#include "server/data/dataset_cache.h"
#include "server/jobs/fetch_pool.h"
#include "server/jobs/fetch_slots.h"
#include "server/jobs/job_table.h"
#include "server/jobs/running.h"
#include "server/store/store.h"

namespace kedge::server {

// Where data sets come from, as DatasetCache has it.
struct DataSource {
  std::function<AcquiredDataset(const schema::DatasetRef&, const std::function<void(schema::EventBody)>&,
                                std::stop_token, const DataCaller& caller)>
      acquire;
  // The rows that the selection leaves, as a data set of their own. Errors: those of engine::write_filtered_rows().
  std::function<AcquiredDataset(const schema::Select&, AcquiredDataset, std::stop_token)> filter = {};
  // May be empty. The first is called under the table's lock.
  std::function<std::optional<AcquiredDataset>(const schema::DatasetRef&, const DataCaller& caller)> recall = {};
  std::function<bool(const schema::DatasetRef&, const DataCaller& caller)> needs_network = {};
  // Throws for a model that must not be used. May be empty.
  std::function<void(const std::string& model)> check_model = {};
};

// Jobs that have their data go on to Running. What needs no network never waits for what does. Thread safe.
class Fetching {
 public:
  // All outlive this object.
  Fetching(Store& store, JobTable& table, Running& running, DataSource source);

  void set_limit(const TableLock&, std::size_t network_per_tenant);   // fetches at a time; 0: only the bound of all
  Supply supply_of(const schema::DatasetRef& ref, const DataCaller& caller) const;   // what its fetch needs

  void add(const TableLock&, const JobPointer& job);   // the job, which knows its supply, waits for its turn
  void start(const TableLock&);                        // as many fetches as there is room for

  // After JobTable::begin_stop(). When stop() returns no fetch runs any more.
  void request_stop();
  void stop() { pool_.reset(); }

 private:
  static constexpr std::size_t kMostLocal = 32, kMostNetwork = 64;   // at a time

  void start(const TableLock&, Supply supply, FetchSlots& slots);
  FetchSlots& slots_of(const ActiveJob& job) { return job.supply == Supply::kNetwork ? network_ : local_; }
  bool takes_at_hand(const TableLock&, const JobPointer& job);
  void fetch(const JobPointer& job);
  std::optional<schema::JobSpec> spec_of(const JobPointer& job) const;
  void fetched(const JobPointer& job, schema::JobSpec spec, AcquiredDataset data);
  void failed(const JobPointer& job, const schema::Error& error);

  Store& store_;
  JobTable& table_;
  Running& running_;
  const DataSource source_;
  FetchSlots local_{kMostLocal}, network_{kMostNetwork};   // guarded by the table's lock
  std::unique_ptr<FetchPool> pool_;                        // null after stop()
};

}   // namespace kedge::server
