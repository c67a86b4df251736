// Messages between kedged and a kedge-worker, one Cap'n Proto message each, length-prefixed, on a socketpair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/event.h"
#include "schemas/job.h"
#include "schemas/model.h"

namespace kedge::schema {

// kedged -> worker
struct RunCommand {     // run one job; the data is the file at dataPath, mapped read-only
  std::string jobId;
  std::int64_t leaseToken = 0;   // comes back with everything the worker says of this job; stale ones are discarded
  JobSpec spec;
  std::string dataPath;
  std::string dataDigest = {};   // what a model says it was fitted on
  std::string modelPath = {};    // of the stored model that the task works with, mapped read-only, or of the one that it leaves
  std::string outputDir = {};    // an empty folder for the artifacts that the task makes
  std::string trace = {};        // traceparent (W3C) of the request that submitted the job, for the worker's log; may be empty
  std::uint8_t lentFiles = 0;    // open files that come with the message, in this order: the data, then the model that the task asks
  std::string dataName = {};     // what the job's owner calls the data, for messages; empty: as the file says
  friend bool operator==(const RunCommand&, const RunCommand&) = default;
};

// What a stored model says of rows that come with the request; no job. Without rows the model is loaded and checked, no more.
struct AskCommand {
  std::int64_t leaseToken = 0;
  std::string modelPath;         // empty: the worker has loaded `model` for an earlier question
  std::string output;            // one of ModelInfo::outputs; empty: only load and check the model
  std::string contentType;       // of `body`: application/json, text/csv, application/x-npy
  std::string accept;            // of the answer: one of them
  std::string body;              // bytes
  std::uint8_t lentFiles = 0;    // 1: the model's open file comes with the message
  std::string model = {};        // its id, by which the worker keeps it loaded; empty: it keeps it by its file
  friend bool operator==(const AskCommand&, const AskCommand&) = default;
};
struct CancelCommand {
  std::string jobId;
  friend bool operator==(const CancelCommand&, const CancelCommand&) = default;
};
struct ExitCommand {
  friend bool operator==(const ExitCommand&, const ExitCommand&) = default;
};
struct WorkerCommand {
  std::variant<RunCommand, CancelCommand, ExitCommand, AskCommand> body;
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
  std::optional<ModelInfo> model = {};   // whose file is where the command said, or
  std::string modelBytes = {};           // here, if it is small
  friend bool operator==(const DoneReport&, const DoneReport&) = default;
};
struct AnswerReport {   // to an AskCommand
  std::int64_t leaseToken = 0;
  std::string body;     // bytes
  std::optional<ModelInfo> model = {};   // as its file says it, if the command asked for no output
  std::int64_t rows = 0;                 // of the question
  std::int64_t together = 0;             // rows of all questions that the model answered in the same call
  double seconds = 0;                    // that this call took
  std::vector<std::int64_t> bins = {};   // that the question's cells are in, counted through all columns of the profile
  std::vector<std::int64_t> counts = {};      // cells in each of `bins`
  std::optional<ModelProfile> profile = {};   // of a model that has one, if the worker loaded it for this command
  friend bool operator==(const AnswerReport&, const AnswerReport&) = default;
};
struct FailedReport {   // kCancelled when it stopped on request
  std::int64_t leaseToken = 0;
  Error error;
  friend bool operator==(const FailedReport&, const FailedReport&) = default;
};
struct WorkerReport {
  std::variant<HelloReport, HeartbeatReport, EventReport, DoneReport, FailedReport, AnswerReport> body;
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

}  // namespace kedge::schema
