// What is known in memory of a job that has not ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "schemas/job.h"
#include "server/data/dataset_cache.h"
#include "server/jobs/job_end.h"
#include "server/jobs/progress_gate.h"
#include "server/jobs/queue.h"

namespace kedge::server {

struct ActiveJob {
  using Clock = std::chrono::steady_clock;

  std::string id, wish, tenant, digest, trace;
  schema::JobState state = schema::JobState::kQueued;
  bool cancel_requested = false;
  std::int64_t crashes = 0;            // workers that died of it
  std::int64_t false_starts = 0;       // workers that died before they began it
  std::int64_t lease = 0;              // of the present attempt
  std::string device;                  // where it runs
  bool leaves_files = false;           // that attempt
  Clock::time_point submitted, waiting_since, run_since, finalizing_since;
  double queued_seconds = 0;           // spent waiting for a fetch or a worker
  double run_seconds = 0;              // of all its runs that have ended
  schema::Deadlines deadlines;         // as the job asks
  Clock::time_point deadline = Clock::time_point::max();   // of what it does now
  double limit = 0;                    // seconds: how long that may take
  std::optional<schema::Error> late;   // set when its run has met its deadline
  std::stop_source stop;               // of the fetch
  ProgressGate progress;
  bool has_begun = false;              // it was put into the queue
  Supply supply = Supply::kLocal;      // what its fetch needs
  std::function<void(JobEnd)> ended;   // called at the end; may be empty
  std::int64_t attempts = 0;           // since the submit, as is the next
  std::string started;                 // the first of them
  std::shared_ptr<const schema::JobSpec> unsaved;   // until it is on disk
  // From the fetch to the end; in between the spec is on disk only, so that a long queue takes little memory.
  std::optional<schema::JobSpec> spec;
  AcquiredDataset data;

  QueueKey queue_key() const { return {wish, tenant}; }
  void leave_queue(Clock::time_point now) {
    queued_seconds += std::chrono::duration<double>(now - waiting_since).count();
  }
};

using JobPointer = std::shared_ptr<ActiveJob>;   // shared: a fetch may outlive its cancelled job

}  // namespace kedge::server
