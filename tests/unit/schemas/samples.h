// One filled-in value of every type that the codec knows, with every member away from its default.
#pragma once

#include <limits>

#include "schemas/codec.h"

namespace kedge::schema::samples {

inline ValueMap values() {
  return {{"nothing", nullptr},
          {"yes", true},
          {"count", 200},
          {"smallest", std::numeric_limits<std::int64_t>::min()},
          {"third", 1.0 / 3},
          {"five", 5.0},
          {"word", "sqrt \"quoted\" \n\t\\ \x01 é 漢 😀"},
          {"list", ValueList{1, 2.5, "three", nullptr, ValueList{}, ValueMap{}}},
          {"weights", ValueMap{{"b", 2}, {"a", 1}}}};
}

inline JobSpec spec(DatasetRef dataset = {OpenmlRef{.name = "mnist_784", .version = 1, .id = 554}},
                    Task task = CrossValidate{.cv = 7,
                                              .splitter = "KFold",
                                              .shuffle = true,
                                              .randomState = 3,
                                              .scoring = {"accuracy", "f1_macro"},
                                              .returnTrainScore = true,
                                              .nRepeats = 4,
                                              .testSize = 0.3,
                                              .trainSize = 20,
                                              .gap = 2,
                                              .maxTrainSize = 50,
                                              .confusionMatrix = true,
                                              .curves = true}) {
  return {.dataset = std::move(dataset),
          .select = {.rows = 52667,
                     .columns = {"a", "b"},
                     .target = "class",
                     .dtype = "float32",
                     .scale = 1.0 / 255,
                     .weights = "w",
                     .groups = "patient",
                     .naValues = {"unknown", "-999"},
                     .keepDefaultNa = false,
                     .types = {{"signup", "date:parts"}, {"zip", "category"}},
                     .targets = {"churned", "price"}},
          .pipeline = {{.estimator = "StandardScaler", .name = "scale"},
                       {.estimator = "RandomForestClassifier", .params = values()}},
          .task = std::move(task),
          .device = "cuda:1",
          .deadlines = {.queue = 60.0, .fetch = 2.5, .run = 3600.0},
          .registerAs = "flowers"};
}

inline std::vector<JobSpec> specs() {
  return {
      spec(),
      spec({OpenmlRef{.id = 61}}, Fit{}),
      spec({UrlRef{.url = "https://example.org/x.arff", .format = "arff", .sha256 = "ab", .target = "y"}},
           FitScore{.testSize = 0.2,
                    .trainSize = 100,
                    .shuffle = false,
                    .stratify = true,
                    .randomState = 0,
                    .scoring = {"accuracy"},
                    .confusionMatrix = true,
                    .curves = true}),
      spec({BuiltinRef{"iris"}}, FitScore{}),
      {.dataset = {BuiltinRef{"iris"}}, .task = Predict{.model = "mdl_1", .output = "predict_proba", .format = "csv"}},
      {.dataset = {BuiltinRef{"iris"}}, .task = Transform{.model = "mdl_1", .format = "csv"}},
      spec({BuiltinRef{"iris"}}, GridSearch{.paramGrid = ValueMap{{"pca__n_components", ValueList{2, 3}}},
                                            .crossValidate = {.cv = 3},
                                            .refit = "accuracy",
                                            .errorScore = "raise"}),
      spec({BuiltinRef{"iris"}}, GridSearch{.paramGrid = ValueList{ValueMap{{"pca", ValueList{"passthrough"}}}}}),
      spec({BuiltinRef{"iris"}},
           RandomizedSearch{.paramDistributions = ValueMap{{"C", ValueMap{{"loguniform", ValueList{0.1, 10.0}}}}},
                            .nIter = 20,
                            .randomState = 9,
                            .crossValidate = {.cv = 4},
                            .refit = false,
                            .errorScore = 0.5}),
      spec({BuiltinRef{"iris"}}, HalvingGridSearch{.paramGrid = ValueMap{{"C", ValueList{1.0}}},
                                                   .factor = 2,
                                                   .resource = "randomforestclassifier__n_estimators",
                                                   .minResources = "smallest",
                                                   .maxResources = 64,
                                                   .aggressiveElimination = true,
                                                   .randomState = 1,
                                                   .crossValidate = {.cv = 2},
                                                   .refit = false,
                                                   .errorScore = 0.0}),
      spec({BuiltinRef{"iris"}}, LearningCurve{.trainSizes = {0.5, 1},
                                               .shuffle = true,
                                               .randomState = 4,
                                               .crossValidate = {.cv = 3},
                                               .errorScore = 0.5}),
      spec({BuiltinRef{"iris"}}, LearningCurve{}),
      spec({BuiltinRef{"iris"}}, ValidationCurve{.paramName = "ridge__alpha",
                                                 .paramRange = {0.1, 1, "auto", nullptr},
                                                 .crossValidate = {.cv = 3},
                                                 .errorScore = "raise"}),
      spec({BuiltinRef{"iris"}},
           PermutationTestScore{.nPermutations = 9, .randomState = 4, .crossValidate = {.cv = 3}}),
      spec({BuiltinRef{"iris"}}, PermutationImportance{.nRepeats = 9,
                                                       .maxSamples = 0.5,
                                                       .randomState = 4,
                                                       .scoring = {"accuracy", "f1_macro"},
                                                       .fitScore = FitScore{.testSize = 0.3, .stratify = true}}),
      spec({BuiltinRef{"iris"}}, PermutationImportance{}),
      spec({BuiltinRef{"iris"}}, PartialDependence{.features = {"a", 2, ValueList{"a", 1}},
                                                   .gridResolution = 7,
                                                   .percentiles = {0.1, 0.9},
                                                   .kind = "both",
                                                   .responseMethod = "decision_function",
                                                   .fitScore = FitScore{}}),
      spec({StoredRef{"prices"}}, FitScore{}),
      spec({UrlRef{.urls = {"https://a.example/x,1.csv", "https://b.example/y.csv"}}}, FitScore{}),
      spec({SklearnRef{"covtype"}}, FitScore{}),
      spec({GenerateRef{"make_blobs", {{"n_samples", 20}, {"cluster_std", 0.5}}}}, FitScore{}),
      {.dataset = {InlineRef{.csv = "a,b\n1,2\n", .target = "b", .bytes = 8, .sha256 = "ab"}},
       .pipeline = {{.estimator = "GaussianNB"}},
       .task = CrossValidate{}}};
}

inline Result result() {
  return {.scores = {{"accuracy", {.perFold = {0.9652, 0.9641}, .mean = 0.96465, .std = 0.00055}}, {"f1_macro", {}}},
          .fitted = {{"RandomForestClassifier",
                      {{"classes_", ValueList{"0", "1"}}, {"feature_importances_", ValueList{0.5, 0.25}}}},
                     {"StandardScaler", {}}},
          .classes = {"0", "1"},
          .nSamples = 52667,
          .nFeatures = 784,
          .dtype = "float32",
          .timings = {.queued = 0.001,
                      .download = 1.9,
                      .parse = 0.4,
                      .load = 0.1,
                      .toDevice = 0.02,
                      .prepare = 0.3,
                      .fit = 3.1,
                      .transform = 0.5,
                      .predict = 0.2,
                      .score = 0.01,
                      .total = 5.7,
                      .folds = {{.fit = 0.62, .transform = 0.1, .predict = 0.04, .score = 0.002}},
                      .steps = {{.name = "StandardScaler", .seconds = 0.25}},
                      .cold = true},
          .device = {.kind = "cuda", .name = "NVIDIA L4", .driver = "580.1", .threads = 2},
          .warnings = {"max_iter reached"},
          .seed = 42,
          .version = "0.1.0",
          .search = SearchResult{.bestIndex = 1,
                                 .bestParams = {{"pca__n_components", 3}},
                                 .bestScore = 0.97,
                                 .refit = 0.02,
                                 .cvResults = {{"mean_test_score", ValueList{0.5, 0.25}}}},
          .model = "mdl_1",
          .artifacts = {{.name = "predictions.npy", .bytes = 210796}},
          .evaluation = {{"confusion_matrix", ValueList{1, 2}}},
          .memory = MemoryReport{.neededBytes = 1 << 20, .predictedBytes = std::int64_t{5} << 30, .peakBytes = 3 << 20},
          .target = "class",
          .registered = "flowers/3",
          .targets = {{.name = "churned", .classes = {"no", "yes"}}, {.name = "price"}}};
}

inline ModelInfo model() {
  return {.id = "mdl_1",
          .created = "2026-01-02T03:04:05.678Z",
          .job = "job_1",
          .bytes = 4096,
          .sha256 = "ab",
          .dataset = {BuiltinRef{"iris"}},
          .pipeline = {{.estimator = "StandardScaler", .name = "scale"}},
          .outputs = {"transform"},
          .columns = {{.name = "age"},
                      {.name = "sex", .kind = "category", .categories = {"f", "m"}},
                      {.name = "signup_year", .type = "date:year", .source = "signup"}},
          .target = "class",
          .classes = {"a", "b"},
          .dtype = "float32",
          .scale = 0.5,
          .nSamples = 150,
          .seed = 3,
          .dataDigest = "cd",
          .version = "0.1.0",
          .device = "cuda",
          .naValues = {"unknown"},
          .targets = {{.name = "churned", .classes = {"no", "yes"}}, {.name = "price"}}};
}

inline ModelProfile profile() {
  return {.rows = 150,
          .columns = {{.edges = {1.5, 2.5}, .shares = {0.25, 0.25, 0.375, 0.125}},
                      {.categories = {"f", "m"}, .shares = {0.5, 0.25, 0.25, 0}}}};
}

inline DriftCounts drift_counts() {
  return {.since = "2026-01-02T03:04:05.678Z", .rows = 3, .counts = {1, 0, 2, 0, 1, 1, 0, 1}, .profile = profile()};
}

inline ModelDrift drift() {
  return {.model = "mdl_1",
          .since = "2026-01-02T03:04:05.678Z",
          .rows = 200,
          .trainedRows = 150,
          .psi = 0.25,
          .columns = {{.name = "age",
                       .psi = 0.25,
                       .trainedMissing = 0.125,
                       .seenMissing = 0.5,
                       .edges = {1.5},
                       .trained = {0.5, 0.375},
                       .seen = {0.25, 0.25}},
                      {.name = "sex", .kind = "category", .categories = {"f"}, .trained = {0.5, 0.5}, .seen = {1, 0}}},
          .note = "none"};
}

inline DatasetPreview preview() {
  return {.name = "stored customers",
          .rows = 50000,
          .nColumns = 12,
          .countedRows = 40000,
          .target = "churned",
          .columns = {{.name = "age",
                       .type = "number",
                       .role = "feature",
                       .missing = 812,
                       .distinct = 1000,
                       .moreDistinct = true,
                       .hint = "it has texts"},
                      {.name = "plan", .type = "category", .role = "target", .distinct = 3}},
          .firstRows = {ValueList{31.5, "basic"}, ValueList{Value(), "plus"}},
          .notes = {"no target is named"}};
}

inline Error error() {
  return {ErrorCode::kBadData, "column 3 has NaN", "dataset"};
}

inline std::vector<Job> jobs();

inline std::vector<EventBody> event_bodies() {
  return {StateEvent{.state = JobState::kFailed, .reason = "BAD_DATA", .error = error()},
          StateEvent{.state = JobState::kRunning, .device = "cuda:1"},
          ProgressEvent{.phase = "fold", .done = 2, .total = 5, .unit = "folds", .fold = 1},
          ProgressEvent{},
          MetricEvent{.name = "accuracy", .value = 0.96, .fold = 4},
          TimingEvent{.phase = "fit", .seconds = 0.62, .fold = 0},
          LogEvent{.level = "warning", .message = "slow"},
          ResultEvent{result()},
          GapEvent{.from = 2, .to = 9, .job = jobs()[0]}};
}

inline std::vector<Event> events() {
  std::vector<Event> events;
  for (const EventBody& body : event_bodies())
    events.push_back({.id = static_cast<std::int64_t>(events.size()) + 1,
                      .time = "2026-01-02T03:04:05.678Z",
                      .body = body});
  return events;
}

inline std::vector<Job> jobs() {
  return {
      {.id = "job_1",
       .state = JobState::kSucceeded,
       .spec = spec(),
       .attempts = 2,
       .created = "2026-01-02T03:04:05.678Z",
       .started = "2026-01-02T03:04:06.678Z",
       .ended = "2026-01-02T03:04:07.678Z",
       .result = result()},
      {.id = "job_2", .state = JobState::kFailed, .reason = "BAD_DATA", .error = error(), .spec = specs()[1]},
      {}};
}

inline EstimatorInfo estimator() {
  return {.name = "PCA",
          .kind = "transformer",
          .family = "decomposition",
          .doc = "Principal components.",
          .params = {{.name = "n_components",
                      .doc = "How many.",
                      .defaultValue = nullptr,
                      .forms = {{.type = ParamForm::Type::kNull},
                                {.type = ParamForm::Type::kInteger, .minimum = 1, .maximum = 10},
                                {.type = ParamForm::Type::kNumber,
                                 .minimum = 0,
                                 .maximum = 1,
                                 .exclusiveMinimum = true,
                                 .exclusiveMaximum = true},
                                {.type = ParamForm::Type::kString, .choices = {"mle"}},
                                {.type = ParamForm::Type::kArray,
                                 .items = {{.type = ParamForm::Type::kObject,
                                            .fields = {{.name = "columns",
                                                        .forms = {{.type = ParamForm::Type::kArray}}}}}}}}},
                     {.name = "whiten", .defaultValue = false, .forms = {{.type = ParamForm::Type::kBoolean}}}},
          .attributes = {"components_"},
          .deviations = {"no arpack"},
          .hostPart = "sums"};
}

inline DeviceList devices() {
  return {{{.id = "cpu", .name = "Xeon", .threads = 2, .memoryBytes = std::int64_t{24} << 30},
           {.id = "cuda", .missing = "no driver"},
           {.id = "cuda:0", .name = "NVIDIA L4", .driver = "580.1"}}};
}

inline ServerInfo server() {
  return {.name = "other",
          .version = "0.1.0",
          .devices = devices().devices,
          .builtinDatasets = {"iris"},
          .scorers = {"accuracy"}};
}

inline std::vector<WorkerCommand> commands() {
  return {{RunCommand{.jobId = "job_1",
                      .leaseToken = 7,
                      .spec = spec(),
                      .dataPath = "/data/x.kds",
                      .dataDigest = "cd",
                      .modelPath = "/m/1.kedge",
                      .outputDir = "/r/1"}},
          {AskCommand{.leaseToken = 3,
                      .modelPath = "/m/1.kedge",
                      .output = "predict",
                      .contentType = "text/csv",
                      .accept = "application/json",
                      .body = std::string("a\0\xff", 3),
                      .model = "mdl_1"}},
          {CancelCommand{"job_1"}},
          {ExitCommand{}}};
}

inline std::vector<WorkerReport> reports() {
  std::vector<WorkerReport> reports(5);
  reports[0].body = HelloReport{.device = devices().devices[0], .version = "0.1.0"};
  reports[1].body = HeartbeatReport{};
  reports[2].body = DoneReport{.leaseToken = 7, .result = result(), .model = model(), .modelBytes = std::string("\0\x80", 2)};
  reports[4].body = AnswerReport{.leaseToken = 7,
                                 .body = std::string("\0\x80", 2),
                                 .model = model(),
                                 .rows = 2,
                                 .together = 5,
                                 .seconds = 0.5,
                                 .bins = {0, 4},
                                 .counts = {2, 1},
                                 .profile = profile()};
  reports[3].body = FailedReport{.leaseToken = 7, .error = error()};
  for (const EventBody& body : event_bodies())
    reports.emplace_back().body = EventReport{.leaseToken = 8, .body = body};
  return reports;
}

}  // namespace kedge::schema::samples
