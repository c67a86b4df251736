// The first part of a job's life: it is let in, stored and queued, and taken out again where it is cancelled.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/job.h"
#include "server/jobs/fetching.h"
#include "server/jobs/job_end.h"
#include "server/jobs/job_files.h"
#include "server/jobs/job_table.h"
#include "server/jobs/running.h"
#include "server/store/store.h"

namespace kedge::server {

// What a job's submit is answered with, as JobService::submit() says; each may be empty.
struct Submitter {
  std::function<void(schema::Job)> submitted;
  std::function<void(const schema::Error&)> failed;
  std::function<void(JobEnd)> ended;
};

// Jobs that begin go on to Fetching. Thread safe.
class Admission {
 public:
  // All outlive this object.
  Admission(Store& store, JobTable& table, Fetching& fetching, Running& running, const JobFiles& files)
      : store_(store), table_(table), fetching_(fetching), running_(running), files_(files) {}

  void set_limit(const TableLock&, std::size_t open_jobs) { open_jobs_per_tenant_ = open_jobs; }   // 0: no bound
  void recover(const TableLock&);   // takes up the store's open jobs; called once, first

  // Errors: schema::QuotaExceeded when the tenant has as many open jobs as it may; so submit().
  void require_room(const std::string& tenant) const;
  // Stores the job. One that finds the store idle begins while it is on its way to the disk.
  void submit(NewJob job, Submitter submitter);
  // False when there is no such open job. Errors: kConflict when it is ending, kUnavailable when the disk takes no
  // note.
  bool cancel(std::string_view id);

 private:
  struct Submission;

  void check_room(const TableLock&, const std::string& tenant) const;
  void store(const JobPointer& job, const std::shared_ptr<Submission>& submission, Submitter submitter, bool has_time);
  void stored(const JobPointer& job);
  void begin(const JobPointer& job);
  void drop(const JobPointer& job);
  bool fail_for_crashes(const TableLock&, const JobPointer& job);
  void stop(const TableLock&, const JobPointer& job);

  Store& store_;
  JobTable& table_;
  Fetching& fetching_;
  Running& running_;
  const JobFiles& files_;
  std::size_t open_jobs_per_tenant_ = 0;   // guarded by the table's lock
};

}   // namespace kedge::server
