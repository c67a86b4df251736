// The table of all jobs that have not ended: their states, and the lock under which they are decided.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/event.h"
#include "schemas/job.h"
#include "server/jobs/active_job.h"
#include "server/jobs/crash_history.h"
#include "server/jobs/job_deadlines.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/load.h"
#include "server/jobs/queue.h"
#include "server/store/store.h"

namespace kedge::server {

// Shows that the caller holds the table's lock. A function with such a parameter is called under the lock; one without
// takes the lock itself or needs none.
class TableLock {
 public:
  TableLock(const TableLock&) = delete;
  // Gives the lock away until `condition` holds, at most so long; looks whenever `changed` is notified.
  template <typename Condition>
  void wait_for(std::condition_variable& changed, std::chrono::milliseconds patience, Condition condition) {
    changed.wait_for(held_, patience, condition);
  }

 private:
  friend class JobTable;
  explicit TableLock(std::mutex& mutex) : held_(mutex) {}
  std::unique_lock<std::mutex> held_;
};

// All may be empty.
struct JobTableOptions {
  // Its end is on disk, or it was never stored. Must not block.
  std::function<void(const std::string& job)> ended = {};
  // Its row is on disk.
  std::function<void(const NewModel& model)> model_stored = {};
  // As JobDeadlines has it. Empty: no job has a deadline.
  std::function<void(const std::string& job)> deadline_reached = {};
  JobObserver* observer = nullptr;
};

// Each decision about a job is made under the one lock and handed to the store before the lock is given back, so the
// store's order is the order of decisions. Nothing under the lock waits for a sync, a fetch or a worker.
//
// Lock order: the table's lock comes first. Under it may be taken, one at a time, the locks of the store's queue of
// writes, the deadline clock, the fetch pool, the supervisor and its slots, and the data set cache. None of these calls
// the table while it holds its own.
class JobTable {
 public:
  // `store`, the observer and what the functions use outlive this object.
  JobTable(Store& store, JobTableOptions options);

  TableLock lock() const { return TableLock(mutex_); }

  // The server's end. Once it drains no fetch and no run begins. Once it stops only what is being published still ends.
  bool starts_work(const TableLock&) const { return phase_ == Phase::kServing; }
  bool is_stopping(const TableLock&) const { return phase_ == Phase::kStopping; }
  void begin_drain(const TableLock&);
  void begin_stop(const TableLock&);
  // After begin_stop(), when no fetch and no worker is left: stores interrupted jobs as queued and closes the store.
  void close();

  // Jobs, until their end is on disk.
  void add(const TableLock&, const JobPointer& job);              // errors: std::bad_alloc, and nothing has changed
  void remove(const TableLock&, const JobPointer& job);           // of one that was never stored
  JobPointer find(const TableLock&, std::string_view id) const;   // null: there is no such job
  std::vector<JobPointer> jobs(const TableLock&) const;
  std::size_t open_jobs(const TableLock&, const std::string& tenant) const;   // that have not ended
  void count(const TableLock&, Load& load) const;   // sets the jobs by state and the oldest wait

  // What the decisions are made from.
  JobQueue& queue(const TableLock&) { return queue_; }
  JobDeadlines& deadlines(const TableLock&) { return deadlines_; }
  CrashHistory& crashes(const TableLock&) { return crashes_; }
  JobObserver& observer() const { return observer_; }
  std::string now(const TableLock&);   // RFC 3339; never goes back, so that the times of a job's events do not
  std::int64_t next_lease(const TableLock&) { return ++last_lease_; }   // a number that no attempt has had

  // The steps of a job. Each sets its state and hands change and event to the store.
  void change(const TableLock&, const JobPointer& job, StateChange change);
  // To a final state: it leaves the queue and has no deadline.
  void finish(const TableLock&, const JobPointer& job, StateChange change);
  void fail(const TableLock&, const JobPointer& job, schema::Error error);
  // Events that are not steps. Progress is thinned, and all are dropped while too many writes wait.
  void append(const TableLock&, const JobPointer& job, schema::EventBody body);

  // Calls options.ended. The table does so itself for a job whose end is on disk.
  void report_end(const ActiveJob& job) const;

 private:
  enum class Phase { kServing, kDraining, kStopping };

  void close_one_of(const std::string& tenant);
  void write(const TableLock&, const JobPointer& job, StateChange change);
  void ended_on_disk(const JobPointer& job, StateChange& change, bool took_place);

  Store& store_;
  const JobTableOptions options_;
  JobObserver ignore_all_;
  JobObserver& observer_;

  mutable std::mutex mutex_;   // guards what follows
  Phase phase_ = Phase::kServing;
  std::chrono::system_clock::time_point last_time_{};
  std::int64_t last_lease_;
  std::map<std::string, JobPointer, std::less<>> jobs_;
  std::map<std::string, std::size_t> open_;   // jobs that have not ended, by tenant
  JobQueue queue_;
  CrashHistory crashes_;
  JobDeadlines deadlines_;   // last: its thread uses the others
};

}   // namespace kedge::server
