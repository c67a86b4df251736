# A job: what is asked for, its state, and what comes back, as in job.h.
@0x8b807cc5b65bb569;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
using Dataset = import "dataset.capnp";
using E = import "error.capnp";
$Cxx.namespace("kedge::schema::wire");

struct Step {
  estimator @0 :Text $Json.required;
  params @1 :List(V.NamedValue) $Json.map $Json.optional;
  name @2 :Text $Json.optional;
}

struct Fit {}

struct FitScore {
  testSize @0 :V.Value $Json.optional;
  trainSize @1 :V.Value $Json.optional;
  shuffle @2 :Bool = true;
  stratify @3 :Bool = false;
  randomState @4 :V.BoxedInt64 $Json.optional;
  scoring @5 :List(Text);
  confusionMatrix @6 :Bool $Json.optional;
  curves @7 :Bool $Json.optional;
}

struct CrossValidate {
  cv @0 :Int64 = 5;
  splitter @1 :Text = "auto";
  shuffle @2 :Bool = false;
  randomState @3 :V.BoxedInt64 $Json.optional;
  scoring @4 :List(Text);
  returnTrainScore @5 :Bool = false;
  nRepeats @6 :V.BoxedInt64 $Json.optional;
  testSize @7 :V.Value $Json.optional;
  trainSize @8 :V.Value $Json.optional;
  gap @9 :V.BoxedInt64 $Json.optional;
  maxTrainSize @10 :V.BoxedInt64 $Json.optional;
  confusionMatrix @11 :Bool $Json.optional;
  curves @12 :Bool $Json.optional;
}

struct GridSearch {
  paramGrid @0 :V.Value $Json.required;
  crossValidate @1 :CrossValidate $Json.optional;
  errorScore @3 :V.Value $Json.optional;   # before refit: messages have their parts in the order of these lines
  refit @2 :V.Value $Json.optional;
}

struct RandomizedSearch {
  paramDistributions @0 :V.Value $Json.required;
  nIter @1 :Int64 = 10;
  randomState @2 :V.BoxedInt64 $Json.optional;
  crossValidate @3 :CrossValidate $Json.optional;
  errorScore @5 :V.Value $Json.optional;   # before refit, as in GridSearch
  refit @4 :V.Value $Json.optional;
}

struct HalvingGridSearch {
  paramGrid @0 :V.Value $Json.required;
  factor @1 :Int64 = 3;
  resource @2 :Text = "n_samples";
  minResources @3 :V.Value $Json.optional;
  maxResources @4 :V.BoxedInt64 $Json.optional;
  aggressiveElimination @5 :Bool = false;
  randomState @6 :V.BoxedInt64 $Json.optional;
  crossValidate @7 :CrossValidate $Json.optional;
  refit @8 :Bool = true;
  errorScore @9 :V.Value $Json.optional;
}

struct Predict {
  model @0 :Text $Json.required;
  output @1 :Text = "predict";
  format @2 :Text = "npy";
}

struct Transform {
  model @0 :Text $Json.required;
  format @1 :Text = "npy";
}

struct Task {
  union {
    fit @0 :Fit;
    fitScore @1 :FitScore;
    crossValidate @2 :CrossValidate;
    gridSearch @3 :GridSearch;
    randomizedSearch @4 :RandomizedSearch;
    halvingGridSearch @5 :HalvingGridSearch;
    predict @6 :Predict;
    transform @7 :Transform;
  }
}

struct Deadlines {
  queue @0 :Float64 $Json.optional;
  fetch @1 :Float64 $Json.optional;
  run @2 :Float64 $Json.optional;
}

struct JobSpec $Json.document {
  dataset @0 :Dataset.DatasetRef $Json.required;
  select @1 :Dataset.Select $Json.optional;
  pipeline @2 :List(Step) $Json.optional $Json.requiredIf("fits_a_pipeline");   # but for predict and transform
  task @3 :Task $Json.required;
  device @4 :Text = "auto";
  deadlines @5 :Deadlines $Json.optional;
}

enum JobState {
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

struct MemoryReport {
  neededBytes @0 :Int64;
  predictedBytes @1 :Int64;
  peakBytes @2 :Int64 $Json.optional;
}

struct Result $Json.document {
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
}

struct SearchResult {
  bestIndex @0 :Int64;
  bestParams @1 :List(V.NamedValue) $Json.map;
  bestScore @2 :Float64;
  refit @3 :Float64;
  cvResults @4 :List(V.NamedValue) $Json.map;
}

struct Job $Json.document {
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

struct JobPage $Json.document {
  jobs @0 :List(Job) $Json.required;
  nextPageToken @1 :Text $Json.optional;
}
