// A job: its description, its state and its result.
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
  std::string name = {};   // for the parameter paths of searches; empty: the estimator's in lower case, as make_pipeline gives it
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
  std::vector<std::string> scoring;   // empty: accuracy, for regressors r2
  bool confusionMatrix = false;       // into Result::evaluation
  bool curves = false;                // ROC and precision-recall curves, into Result::evaluation
  friend bool operator==(const FitScore&, const FitScore&) = default;
};

// A field that the splitter does not have in scikit-learn is refused; the groups of group splitters are select.groups.
struct CrossValidate {
  std::int64_t cv = 5;                  // number of splits
  std::string splitter = "auto";        // StratifiedKFold for classifiers, otherwise KFold; or a class of scikit-learn
  bool shuffle = false;
  std::optional<std::int64_t> randomState;
  std::vector<std::string> scoring;     // empty: accuracy, for regressors r2
  bool returnTrainScore = false;
  std::optional<std::int64_t> nRepeats = {};       // RepeatedKFold, RepeatedStratifiedKFold; default 10
  std::optional<Value> testSize = {};              // ShuffleSplit, StratifiedShuffleSplit (default 0.1), TimeSeriesSplit (rows)
  std::optional<Value> trainSize = {};             // ShuffleSplit, StratifiedShuffleSplit
  std::optional<std::int64_t> gap = {};            // TimeSeriesSplit: rows left out between train and test; default 0
  std::optional<std::int64_t> maxTrainSize = {};   // TimeSeriesSplit
  bool confusionMatrix = false;                    // summed over the test folds, into Result::evaluation
  bool curves = false;                             // of the test folds' rows together, into Result::evaluation
  friend bool operator==(const CrossValidate&, const CrossValidate&) = default;
};

// Every candidate of a grid. paramGrid: {"step__param": [values ...]}, or a list of such objects; "step" alone replaces the
// step: [{"estimator": ..., "params": {...}}, "passthrough" ...].
struct GridSearch {
  Value paramGrid;
  CrossValidate crossValidate;
  Value refit = true;           // fit the best candidate on all rows; with several scorers the name of the one that decides
  Value errorScore = "NaN";     // score of a fit that fails: a number, "NaN", or "raise" to fail the job
  friend bool operator==(const GridSearch&, const GridSearch&) = default;
};

// nIter candidates drawn as ParameterSampler draws them. paramDistributions: as a grid, where a value may also be
// {"uniform": [low, high]}, {"loguniform": [low, high]} or {"randint": [low, high]} (high excluded).
struct RandomizedSearch {
  Value paramDistributions;
  std::int64_t nIter = 10;
  std::optional<std::int64_t> randomState;
  CrossValidate crossValidate;
  Value refit = true;
  Value errorScore = "NaN";
  friend bool operator==(const RandomizedSearch&, const RandomizedSearch&) = default;
};

// Successive halving: all candidates on few rows, the best 1/factor of them on factor times as many, and so on.
struct HalvingGridSearch {
  Value paramGrid;
  std::int64_t factor = 3;
  std::string resource = "n_samples";            // or an integer parameter such as "randomforestclassifier__n_estimators"
  Value minResources = "exhaust";                // "exhaust", "smallest" or a number
  std::optional<std::int64_t> maxResources;      // default: all rows; needed for another resource
  bool aggressiveElimination = false;
  std::optional<std::int64_t> randomState;       // of the subsamples
  CrossValidate crossValidate;
  bool refit = true;
  Value errorScore = "NaN";
  friend bool operator==(const HalvingGridSearch&, const HalvingGridSearch&) = default;
};

// What a stored model says of the rows of a data set; the job has no pipeline. Columns are matched by name. The answer is an
// artifact, predictions.npy or predictions.csv.
struct Predict {
  std::string model;                 // its id
  std::string output = "predict";    // predict, predict_proba, decision_function or score_samples
  std::string format = "npy";        // npy or csv
  friend bool operator==(const Predict&, const Predict&) = default;
};

// The rows of a data set, transformed by a stored model: the artifact transformed.npy or transformed.csv.
struct Transform {
  std::string model;
  std::string format = "npy";
  friend bool operator==(const Transform&, const Transform&) = default;
};

// Train and test scores of cross-validations with ever more train rows: Result::evaluation has "learning_curve".
struct LearningCurve {
  ValueList
      trainSizes;   // fractions of the first fold's train rows, or numbers of rows; empty: 0.1, 0.325, 0.55, 0.775, 1.0
  bool shuffle = false;   // the train rows of each fold, before the first of them are taken
  std::optional<std::int64_t> randomState;
  CrossValidate crossValidate;
  Value errorScore = "NaN";
  friend bool operator==(const LearningCurve&, const LearningCurve&) = default;
};

// Train and test scores of cross-validations by the value of one parameter: Result::evaluation has "validation_curve".
struct ValidationCurve {
  std::string paramName;   // a path as in a grid
  ValueList paramRange;
  CrossValidate crossValidate;
  Value errorScore = "NaN";
  friend bool operator==(const ValidationCurve&, const ValidationCurve&) = default;
};

// The cross-validation again with permuted targets: Result::evaluation has "permutation_test_score".
struct PermutationTestScore {
  std::int64_t nPermutations = 100;
  std::optional<std::int64_t> randomState;
  CrossValidate crossValidate;
  friend bool operator==(const PermutationTestScore&, const PermutationTestScore&) = default;
};

// Scores of a fitted pipeline with one column after the other permuted: Result::evaluation has
// "permutation_importance".
struct PermutationImportance {
  std::int64_t nRepeats = 5;
  std::optional<Value> maxSamples;   // fraction or number of the rows that are scored; default: all
  std::optional<std::int64_t> randomState;
  std::vector<std::string> scoring;   // empty: accuracy, for regressors r2
  std::optional<FitScore> fitScore;   // its train rows are fitted, its test rows examined; absent: all rows are both
  friend bool operator==(const PermutationImportance&, const PermutationImportance&) = default;
};

// What a fitted pipeline predicts with columns set to the points of a grid: Result::evaluation has
// "partial_dependence".
struct PartialDependence {
  ValueList features;   // names or positions of columns, or pairs of them
  std::int64_t gridResolution = 100;
  std::vector<double> percentiles;   // empty: 0.05 and 0.95
  std::string kind = "average";      // average, individual or both
  std::string responseMethod = "auto";
  std::optional<FitScore> fitScore;   // as in PermutationImportance
  friend bool operator==(const PartialDependence&, const PartialDependence&) = default;
};

// JSON: {"crossValidate": {...}}
using Task =
    std::variant<Fit, FitScore, CrossValidate, GridSearch, RandomizedSearch, HalvingGridSearch, Predict, Transform,
                 LearningCurve, ValidationCurve, PermutationTestScore, PermutationImportance, PartialDependence>;

// The stored model that a task works with; null for tasks that fit their own.
const std::string* model_of(const Task& task);

// Seconds that a job may spend waiting for its turn, fetching its data, and computing; 0: as the server has it. A job that takes
// longer fails with kDeadlineExceeded.
struct Deadlines {
  double queue = 0, fetch = 0, run = 0;
  friend bool operator==(const Deadlines&, const Deadlines&) = default;
};

struct JobSpec {
  DatasetRef dataset;
  Select select;
  std::vector<Step> pipeline;
  Task task;
  std::string device = "auto";   // auto, cpu, cuda, cuda:N
  Deadlines deadlines = {};
  std::string registerAs = {};   // "register" on the wire: the model of a fit or search becomes a version of this name
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

// What a search found, under the names of scikit-learn's search classes.
struct SearchResult {
  std::int64_t bestIndex = 0;
  ValueMap bestParams;
  double bestScore = 0;
  double refit = 0;       // seconds; 0 without refit
  ValueMap cvResults;     // cv_results_: "params", "mean_test_score", "rank_test_score", ...; one entry per candidate
  friend bool operator==(const SearchResult&, const SearchResult&) = default;
};

struct Artifact {   // GET /v1/jobs/{id}/artifacts/{name}
  std::string name;
  std::int64_t bytes = 0;
  friend bool operator==(const Artifact&, const Artifact&) = default;
};

// Bytes beyond what the worker held when the job began: of the machine's memory on a CPU, of the device's on a GPU.
struct MemoryReport {
  std::int64_t neededBytes = 0;      // the least that such a job takes; where there is less it is refused as OUT_OF_MEMORY
  std::int64_t predictedBytes = 0;   // the most that it was expected to take
  std::int64_t peakBytes = 0;        // the most that it held; 0: not measured (small jobs, GPUs)
  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
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
  std::optional<SearchResult> search = {};
  std::string model = {};                  // id of the model that the job stored; empty: none
  std::vector<Artifact> artifacts = {};
  ValueMap evaluation = {};   // the results of confusionMatrix and curves
  std::optional<MemoryReport> memory = {};
  std::string target = {};                 // name of the target column; empty: none
  std::string registered = {};             // "iris/3": the version that the model has become; empty: none
  std::vector<TargetColumn> targets = {};   // where there are several target columns; target and classes are then empty
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
  std::vector<Job> jobs;          // results: scores, total time, model; none where it is long
  std::string nextPageToken;      // empty on the last page
  friend bool operator==(const JobPage&, const JobPage&) = default;
};

}  // namespace kedge::schema
