// A job: what a client asks for, the state it is in, and what comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/dataset.h"
#include "schemas/error.h"
#include "schemas/value.h"

namespace kedge::schema {

// One estimator of a pipeline. `params` holds only what the user set. JSON: {"estimator": "PCA", "params": {...}}.
struct Step {
  std::string estimator;
  ValueMap params;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Fit {   // fit on all selected rows
  friend bool operator==(const Fit&, const Fit&) = default;
};

struct FitScore {   // train_test_split, fit, score; arguments as in scikit-learn
  std::optional<Value> testSize;    // fraction or number of rows; default 0.25
  std::optional<Value> trainSize;
  bool shuffle = true;
  bool stratify = false;
  std::optional<std::int64_t> randomState;
  std::vector<std::string> scoring;   // empty: accuracy
  friend bool operator==(const FitScore&, const FitScore&) = default;
};

struct CrossValidate {
  std::int64_t cv = 5;                  // number of folds
  std::string splitter = "auto";        // auto (StratifiedKFold for classifiers), KFold, StratifiedKFold
  bool shuffle = false;
  std::optional<std::int64_t> randomState;
  std::vector<std::string> scoring;     // empty: accuracy
  bool returnTrainScore = false;
  friend bool operator==(const CrossValidate&, const CrossValidate&) = default;
};

using Task = std::variant<Fit, FitScore, CrossValidate>;   // JSON: {"crossValidate": {...}}

struct JobSpec {
  DatasetRef dataset;
  Select select;
  std::vector<Step> pipeline;
  Task task;
  std::string device = "auto";   // auto, cpu, cuda, cuda:N
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

enum class JobState { kQueued, kFetching, kRunning, kFinalizing, kSucceeded, kFailed, kCancelled };
inline bool is_final(JobState s) { return s >= JobState::kSucceeded; }
std::string_view job_state_name(JobState state);   // "queued", ... as on the wire

struct Score {   // JSON keys perFold, mean, std (population standard deviation over folds)
  std::vector<double> perFold;
  double mean = 0, std = 0;
  friend bool operator==(const Score&, const Score&) = default;
};

// Seconds on a steady clock.
struct FoldTimings {
  double fit = 0, transform = 0, predict = 0, score = 0;
  friend bool operator==(const FoldTimings&, const FoldTimings&) = default;
};
struct StepTiming {
  std::string name;
  double seconds = 0;
  friend bool operator==(const StepTiming&, const StepTiming&) = default;
};
struct Timings {
  double queued = 0, download = 0, parse = 0, load = 0, toDevice = 0, prepare = 0;   // prepare: work shared by the folds (binning)
  double fit = 0, transform = 0, predict = 0, score = 0, total = 0;
  std::vector<FoldTimings> folds;
  std::vector<StepTiming> steps;   // fit and transform seconds of each pipeline step, summed over folds
  bool cold = false;               // the data had to be downloaded or parsed for this job
  friend bool operator==(const Timings&, const Timings&) = default;
};

struct DeviceReport {
  std::string kind;      // "cpu" or "cuda"
  std::string name;
  std::string driver;    // CUDA driver version, empty on the CPU
  std::int64_t threads = 0;
  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

struct Result {
  std::vector<std::pair<std::string, Score>> scores;        // by scorer; train scores are named "train_accuracy"
  std::vector<std::pair<std::string, ValueMap>> fitted;     // by estimator: its fitted attributes (fit and fitScore)
  std::vector<std::string> classes;                         // names of the target's classes, in code order
  std::int64_t nSamples = 0, nFeatures = 0;
  std::string dtype;
  Timings timings;
  DeviceReport device;
  std::vector<std::string> warnings;
  std::int64_t seed = 0;      // used wherever random_state was not set
  std::string version;
  friend bool operator==(const Result&, const Result&) = default;
};

// A job as the API shows it. Times are RFC 3339 in UTC, empty while not reached.
struct Job {
  std::string id;
  JobState state = JobState::kQueued;
  std::string reason;          // error code name once failed, e.g. "WORKER_CRASHED"
  std::optional<Error> error;  // the failure in words
  JobSpec spec;
  std::int64_t attempts = 0;
  std::string created, started, ended;
  std::optional<Result> result;
  friend bool operator==(const Job&, const Job&) = default;
};

struct JobPage {   // GET /v1/jobs; newest first
  std::vector<Job> jobs;          // without results
  std::string nextPageToken;      // empty on the last page
  friend bool operator==(const JobPage&, const JobPage&) = default;
};

}  // namespace kedge::schema
