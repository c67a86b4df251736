// Messages between kedged and a kedge-worker, one Cap'n Proto message each, length-prefixed, on a socketpair.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "schemas/catalogue.h"
#include "schemas/event.h"
#include "schemas/job.h"

namespace kedge::schema {

// kedged -> worker
struct RunCommand {     // run one job; the data is the file at dataPath, mapped read-only
  std::string jobId;
  std::int64_t leaseToken = 0;   // comes back with everything the worker says of this job; stale ones are discarded
  JobSpec spec;
  std::string dataPath;
  friend bool operator==(const RunCommand&, const RunCommand&) = default;
};
struct CancelCommand {
  std::string jobId;
  friend bool operator==(const CancelCommand&, const CancelCommand&) = default;
};
struct ExitCommand {
  friend bool operator==(const ExitCommand&, const ExitCommand&) = default;
};
struct WorkerCommand {
  std::variant<RunCommand, CancelCommand, ExitCommand> body;
  friend bool operator==(const WorkerCommand&, const WorkerCommand&) = default;
};

// worker -> kedged
struct HelloReport {    // first message: the device that this worker owns
  DeviceEntry device;
  std::string version;
  friend bool operator==(const HelloReport&, const HelloReport&) = default;
};
struct HeartbeatReport {
  friend bool operator==(const HeartbeatReport&, const HeartbeatReport&) = default;
};
struct EventReport {    // progress, metric, timing or log of the running job
  std::int64_t leaseToken = 0;
  EventBody body;
  friend bool operator==(const EventReport&, const EventReport&) = default;
};
struct DoneReport {
  std::int64_t leaseToken = 0;
  Result result;
  friend bool operator==(const DoneReport&, const DoneReport&) = default;
};
struct FailedReport {   // kCancelled when it stopped on request
  std::int64_t leaseToken = 0;
  Error error;
  friend bool operator==(const FailedReport&, const FailedReport&) = default;
};
struct WorkerReport {
  std::variant<HelloReport, HeartbeatReport, EventReport, DoneReport, FailedReport> body;
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

}  // namespace kedge::schema
