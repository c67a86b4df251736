# A job: its description, its state and its result, as in job.h.
@0x8b807cc5b65bb569;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
using Dataset = import "dataset.capnp";
using E = import "error.capnp";
$Cxx.namespace("kedge::schema::wire");

struct Step $Json.schema("Step") {
  estimator @0 :Text $Json.required;
  # A name of /v1/estimators, which says what its params are.

  params @1 :List(V.NamedValue) $Json.map $Json.optional;
  name @2 :Text $Json.optional;
}

struct Fit {
  # On all selected rows.
}

struct FitScore {
  # train_test_split, fit and score.

  testSize @0 :V.Value $Json.optional $Json.jsonTypes(["number"]);
  # A fraction, or a number of rows; 0.25 where neither size is given.

  trainSize @1 :V.Value $Json.optional $Json.jsonTypes(["number"]);
  shuffle @2 :Bool = true;
  stratify @3 :Bool = false;
  randomState @4 :V.BoxedInt64 $Json.optional;
  scoring @5 :List(Text);
  # Names of /v1/info. Empty: accuracy, for regressors r2.

  confusionMatrix @6 :Bool $Json.optional;
  # Into the result's evaluation.

  curves @7 :Bool $Json.optional;
  # ROC and precision-recall curves, into the result's evaluation.
}

struct CrossValidate $Json.schema("CrossValidate") {
  cv @0 :Int64 = 5;
  # The number of splits.

  splitter @1 :Text = "auto";
  # auto (StratifiedKFold for classifiers, else KFold), or a class of sklearn.model_selection.

  shuffle @2 :Bool = false;
  randomState @3 :V.BoxedInt64 $Json.optional;
  scoring @4 :List(Text);
  # Names of /v1/info. Empty: accuracy, for regressors r2.

  returnTrainScore @5 :Bool = false;
  nRepeats @6 :V.BoxedInt64 $Json.optional $Json.minimum(1);
  # RepeatedKFold, RepeatedStratifiedKFold; default 10.

  testSize @7 :V.Value $Json.optional $Json.jsonTypes(["number"]);
  # ShuffleSplit, StratifiedShuffleSplit (default 0.1), TimeSeriesSplit (rows).

  trainSize @8 :V.Value $Json.optional $Json.jsonTypes(["number"]);
  # ShuffleSplit, StratifiedShuffleSplit.

  gap @9 :V.BoxedInt64 $Json.optional $Json.minimum(0);
  # TimeSeriesSplit: rows left out between train and test; default 0.

  maxTrainSize @10 :V.BoxedInt64 $Json.optional $Json.minimum(1);
  # TimeSeriesSplit.

  confusionMatrix @11 :Bool $Json.optional;
  # Summed over the test folds, into the result's evaluation.

  curves @12 :Bool $Json.optional;
  # Of the test folds' rows together, into the result's evaluation.
}

struct GridSearch {
  # Every candidate of a grid.

  paramGrid @0 :V.Value $Json.required $Json.component("ParamGrid");
  crossValidate @1 :CrossValidate $Json.optional;

  # errorScore is before refit, because messages have their parts in the order of these lines.

  errorScore @3 :V.Value $Json.optional $Json.jsonTypes(["number", "string"]) $Json.default("\"NaN\"");
  # The score of a fit that fails: a number, "NaN", or "raise" to fail the job.

  refit @2 :V.Value $Json.optional $Json.jsonTypes(["boolean", "string"]) $Json.default("true");
  # Fit the best candidate on all rows; with several scorers the name of the one that decides.
}

struct RandomizedSearch {
  # Candidates drawn as ParameterSampler draws them. A value of the grid may also be {"uniform": [low, high]},
  # {"loguniform": [low, high]} or {"randint": [low, high]} (high excluded).

  paramDistributions @0 :V.Value $Json.required $Json.component("ParamGrid");
  nIter @1 :Int64 = 10 $Json.minimum(1);
  randomState @2 :V.BoxedInt64 $Json.optional;
  crossValidate @3 :CrossValidate $Json.optional;
  errorScore @5 :V.Value $Json.optional $Json.jsonTypes(["number", "string"]) $Json.default("\"NaN\"");
  # The score of a fit that fails: a number, "NaN", or "raise" to fail the job.

  refit @4 :V.Value $Json.optional $Json.jsonTypes(["boolean", "string"]) $Json.default("true");
  # Fit the best candidate on all rows; with several scorers the name of the one that decides.
}

struct HalvingGridSearch {
  # Successive halving: all candidates on few rows, the best 1/factor of them on factor times as many, and so on.

  paramGrid @0 :V.Value $Json.required $Json.component("ParamGrid");
  factor @1 :Int64 = 3 $Json.minimum(2);
  resource @2 :Text = "n_samples";
  # Or an integer parameter such as "randomforestclassifier__n_estimators".

  minResources @3 :V.Value $Json.optional $Json.jsonTypes(["integer", "string"]) $Json.default("\"exhaust\"");
  # "exhaust", "smallest" or a number.

  maxResources @4 :V.BoxedInt64 $Json.optional $Json.minimum(1);
  # Default: all rows; needed for another resource.

  aggressiveElimination @5 :Bool = false;
  randomState @6 :V.BoxedInt64 $Json.optional;
  crossValidate @7 :CrossValidate $Json.optional;
  refit @8 :Bool = true;
  errorScore @9 :V.Value $Json.optional $Json.jsonTypes(["number", "string"]) $Json.default("\"NaN\"");
  # The score of a fit that fails: a number, "NaN", or "raise" to fail the job.
}

struct Predict {
  # What a stored model says of the rows of a data set; the answer is an artifact.

  model @0 :Text $Json.required;
  # Its id.

  output @1 :Text = "predict" $Json.choices(["predict", "predict_proba", "decision_function", "score_samples", "contributions"]);
  format @2 :Text = "npy" $Json.choices(["npy", "csv"]);
}

struct Transform {
  # The rows of a data set as the transformers of a stored model transform them; the answer is an artifact.

  model @0 :Text $Json.required;
  # Its id.

  format @1 :Text = "npy" $Json.choices(["npy", "csv"]);
}

struct LearningCurve {
  # Train and test scores of cross-validations with ever more train rows.

  trainSizes @0 :List(V.Value) $Json.optional $Json.jsonTypes(["number"]);
  # Fractions of the first fold's train rows in (0, 1], or numbers of rows. Default: 0.1, 0.325, 0.55, 0.775, 1.0.

  shuffle @1 :Bool = false;
  # The train rows of each fold, before the first of them are taken.

  randomState @2 :V.BoxedInt64 $Json.optional;
  crossValidate @3 :CrossValidate $Json.optional;
  errorScore @4 :V.Value $Json.optional $Json.jsonTypes(["number", "string"]) $Json.default("\"NaN\"");
  # The score of a fit that fails: a number, "NaN", or "raise" to fail the job.
}

struct ValidationCurve {
  # Train and test scores of cross-validations by the value of one parameter.

  paramName @0 :Text $Json.required;
  # "step__param", as in a grid.

  paramRange @1 :List(V.Value) $Json.required;
  crossValidate @2 :CrossValidate $Json.optional;
  errorScore @3 :V.Value $Json.optional $Json.jsonTypes(["number", "string"]) $Json.default("\"NaN\"");
  # The score of a fit that fails: a number, "NaN", or "raise" to fail the job.
}

struct PermutationTestScore {
  # Whether a score could be chance: the cross-validation again with permuted targets.

  nPermutations @0 :Int64 = 100 $Json.minimum(1);
  randomState @1 :V.BoxedInt64 $Json.optional;
  crossValidate @2 :CrossValidate $Json.optional;
}

struct PermutationImportance {
  # Fits, then scores with one column after the other permuted.

  nRepeats @0 :Int64 = 5 $Json.minimum(1);
  maxSamples @1 :V.Value $Json.optional $Json.jsonTypes(["number"]);
  # A fraction of the rows in (0, 1], or a number of rows, that each column is scored on; all rows where it is absent.

  randomState @2 :V.BoxedInt64 $Json.optional;
  scoring @3 :List(Text);
  # Names of /v1/info. Empty: accuracy, for regressors r2.

  fitScore @4 :FitScore $Json.optional;
  # Fits on its train rows and examines its test rows. Without it, all rows do both, and the model is stored.
}

struct PartialDependence {
  # Fits, then predicts with columns set to the points of a grid.

  features @0 :List(V.Value) $Json.required $Json.jsonTypes(["string", "integer", "array"]);
  # Names or positions of columns, or pairs of them.

  gridResolution @1 :Int64 = 100 $Json.minimum(2);
  percentiles @2 :List(Float64);
  # Of a column's values, between which its grid lies. Empty: 0.05 and 0.95.

  kind @3 :Text = "average" $Json.choices(["average", "individual", "both"]);
  responseMethod @4 :Text = "auto" $Json.choices(["auto", "predict_proba", "decision_function"]);
  fitScore @5 :FitScore $Json.optional;
  # Fits on its train rows and examines its test rows. Without it, all rows do both, and the model is stored.
}

struct Task $Json.schema("Task") {
  # One of these.

  union {
    fit @0 :Fit;
    fitScore @1 :FitScore;
    crossValidate @2 :CrossValidate;
    gridSearch @3 :GridSearch;
    randomizedSearch @4 :RandomizedSearch;
    halvingGridSearch @5 :HalvingGridSearch;
    predict @6 :Predict;
    transform @7 :Transform;
    learningCurve @8 :LearningCurve;
    validationCurve @9 :ValidationCurve;
    permutationTestScore @10 :PermutationTestScore;
    permutationImportance @11 :PermutationImportance;
    partialDependence @12 :PartialDependence;
  }
}

struct Deadlines {
  # Seconds; 0: as the server has it.

  queue @0 :Float64 $Json.optional $Json.minimum(0);
  fetch @1 :Float64 $Json.optional $Json.minimum(0);
  run @2 :Float64 $Json.optional $Json.minimum(0);
}

struct JobSpec $Json.document $Json.schema("JobSpec") $Json.request {
  # A pipeline is needed for every task but predict and transform, which take a stored model instead.

  dataset @0 :Dataset.DatasetRef $Json.required;
  select @1 :Dataset.Select $Json.optional;
  pipeline @2 :List(Step) $Json.optional $Json.requiredIf("fits_a_pipeline");
  task @3 :Task $Json.required;
  device @4 :Text = "auto" $Json.pattern("^(auto|cpu|cluster|cuda(:[0-9]{1,3})?)$");
  deadlines @5 :Deadlines $Json.optional;
  register @6 :Text $Json.optional $Json.member("registerAs");
  # A registered model, of which the model that a fit or a search stores becomes a new version when the job ends.
}

enum JobState $Json.schema("JobState") {
  queued @0;
  fetching @1;
  running @2;
  finalizing @3;
  succeeded @4;
  failed @5;
  cancelled @6;
}

struct Score {
  perFold @0 :List(Float64);
  mean @1 :Float64;
  std @2 :Float64;
}

struct NamedScore {
  name @0 :Text;
  value @1 :Score;
}

struct NamedValueMap {
  name @0 :Text;
  value @1 :List(V.NamedValue) $Json.map;
}

struct FoldTimings {
  fit @0 :Float64;
  transform @1 :Float64;
  predict @2 :Float64;
  score @3 :Float64;
}

struct StepTiming {
  name @0 :Text;
  seconds @1 :Float64;
}

struct Timings {
  queued @0 :Float64;
  download @1 :Float64;
  parse @2 :Float64;
  load @3 :Float64;
  toDevice @4 :Float64;
  prepare @5 :Float64;
  fit @6 :Float64;
  transform @7 :Float64;
  predict @8 :Float64;
  score @9 :Float64;
  total @10 :Float64;
  folds @11 :List(FoldTimings);
  steps @12 :List(StepTiming);
  cold @13 :Bool;
}

struct DeviceReport {
  kind @0 :Text;
  name @1 :Text;
  driver @2 :Text;
  threads @3 :Int64;
}

struct Artifact {
  name @0 :Text;
  bytes @1 :Int64;
}

struct MemoryReport $Json.schema("MemoryReport") {
  # Bytes beyond what the worker held when the job began: of the machine's memory on a CPU, of the device's on a GPU.

  neededBytes @0 :Int64;
  # The least that such a job takes; where there is less it is refused as OUT_OF_MEMORY.

  predictedBytes @1 :Int64;
  # The most that it was expected to take.

  peakBytes @2 :Int64 $Json.optional;
  # The most that it held; absent where that was not measured.
}

struct Result $Json.document $Json.schema("Result") {
  scores @0 :List(NamedScore) $Json.map;
  fitted @1 :List(NamedValueMap) $Json.map;
  classes @2 :List(Text);
  nSamples @3 :Int64;
  nFeatures @4 :Int64;
  dtype @5 :Text;
  timings @6 :Timings;
  device @7 :DeviceReport;
  warnings @8 :List(Text);
  seed @9 :Int64;
  version @10 :Text;
  search @11 :SearchResult $Json.optional;
  model @12 :Text $Json.optional;
  artifacts @13 :List(Artifact) $Json.optional;
  evaluation @14 :List(V.NamedValue) $Json.map $Json.optional;
  memory @15 :MemoryReport $Json.optional;
  target @16 :Text $Json.optional;
  # The target column.

  registered @17 :Text $Json.optional;
  # NAME/VERSION that the job's model has become.

  targets @18 :List(Dataset.TargetColumn) $Json.optional;
  # The target columns where there are several; target and classes are then empty.
}

struct SearchResult {
  bestIndex @0 :Int64;
  bestParams @1 :List(V.NamedValue) $Json.map;
  bestScore @2 :Float64;
  refit @3 :Float64;
  cvResults @4 :List(V.NamedValue) $Json.map;
}

struct Job $Json.document $Json.schema("Job") {
  id @0 :Text $Json.required;
  state @1 :JobState $Json.required;
  reason @2 :Text $Json.optional;
  error @3 :E.Error $Json.optional;
  spec @4 :JobSpec $Json.required;
  attempts @5 :Int64;
  created @6 :Text $Json.optional;
  started @7 :Text $Json.optional;
  ended @8 :Text $Json.optional;
  result @9 :Result $Json.optional;
}

struct JobPage $Json.document $Json.schema("JobPage") {
  # Of a result a list has the scores without folds, a search's best score, the total time and the model; of one of more than 256 KiB nothing.

  jobs @0 :List(Job) $Json.required;
  nextPageToken @1 :Text $Json.optional;
}
