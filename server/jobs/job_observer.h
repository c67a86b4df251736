// What the job service reports while it works, for metrics and logs.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/job.h"

namespace kedge::server {

// Why a worker has ended.
enum class WorkerEnd { kSignal, kExit, kSilent, kCancelled, kNotStarted };

constexpr std::string_view worker_end_name(WorkerEnd end) {
  switch (end) {
    case WorkerEnd::kSignal:
      return "signal";   // killed by the system, or it crashed
    case WorkerEnd::kExit:
      return "exit";   // it ended by itself
    case WorkerEnd::kSilent:
      return "silent";   // no sign of life: killed
    case WorkerEnd::kCancelled:
      return "cancelled";   // it did not cancel in time: killed
    case WorkerEnd::kNotStarted:
      return "not_started";   // it never said hello
  }
  return "unknown";
}

// A job's step into a state.
struct JobStep {
  std::string_view job, tenant, trace;   // trace: the traceparent (W3C) of the request that submitted it; may be empty
  schema::JobState state;
  std::string_view reason;                // as in the job, empty for none
  std::string_view message, where;        // of its failure, or of a lost attempt; empty for none
  std::string_view device;                // where it runs or ran; empty: nowhere yet
  std::int64_t lease = 0;                 // of the present attempt, or the last; 0: none yet
  double queued_seconds = 0, run_seconds = 0, total_seconds = 0;   // so far
};

// Each call comes from a service thread, some under a lock of the service: none may block or call back. As it stands it
// ignores the calls.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void job_submitted() {}                                                           // a new one is on disk
  virtual void job_step(const JobStep& /*step*/) {}                                         // the first is to fetching
  virtual void job_ran(const schema::Timings& /*timings*/, double /*publish_seconds*/) {}   // with success
  virtual void device_used(std::string_view /*device*/, std::string_view /*tenant*/, double /*seconds*/) {
  }   // by a run that ended
  virtual void worker_lost(WorkerEnd /*end*/, bool /*ran_a_job*/) {}
  virtual void data_acquired(bool /*cold*/) {}          // cold: it had to be downloaded or parsed
  virtual void store_committed(double /*seconds*/) {}   // a transaction
};

}   // namespace kedge::server
