// The last part of a job's life: the files that it left take their place, then its result is stored.
#pragma once

#include <optional>

#include "schemas/error.h"
#include "schemas/worker.h"
#include "server/data/tenant_bytes.h"
#include "server/jobs/job_files.h"
#include "server/jobs/job_table.h"
#include "server/jobs/model_journal.h"

namespace kedge::server {

// Three steps, because a model may be large: its files are moved while no lock is held, and a cancel may come
// meanwhile. Thread safe.
class Publishing {
 public:
  // What place_files() did: what is to be listed, and the bytes that are reserved for it until end().
  struct Files {
    std::optional<NewModel> model = {};
    TenantBytes::Reservation model_bytes = {}, artifact_bytes = {};
    std::optional<schema::Error> failure = {};
  };

  // `bytes`: in which what jobs leave counts; null: nothing is counted. All outlive this object.
  Publishing(JobTable& table, const JobFiles& files, ModelJournal& models, TenantBytes* bytes)
      : table_(table), files_(files), models_(models), bytes_(bytes) {}

  // The end of the computation: the job is finalizing, and its model has its name in the report. False, and the job has
  // ended, if it was cancelled.
  bool begin(const TableLock&, const JobPointer& job, schema::DoneReport& report);
  // Not under the lock. A model for which its tenant has no room is left out, and the report says so.
  Files place_files(const ActiveJob& job, schema::DoneReport& report) const;
  // The end of the job: its result, or the failure of the step before. What was cancelled meanwhile leaves nothing.
  void end(const TableLock&, const JobPointer& job, schema::DoneReport report, Files files);

 private:
  void place(const ActiveJob& job, schema::DoneReport& report, Files& files) const;
  TenantBytes::Reservation reserve_model(const ActiveJob& job, schema::DoneReport& report) const;
  void succeed(const TableLock&, const JobPointer& job, schema::Result result, std::optional<NewModel> model);

  JobTable& table_;
  const JobFiles& files_;
  ModelJournal& models_;
  TenantBytes* const bytes_;
};

}   // namespace kedge::server
