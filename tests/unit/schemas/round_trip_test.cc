// Every type survives JSON and binary, filled in and empty, and the defaults of both schemas are the same.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/unit/schemas/samples.h"

namespace kedge::schema {
namespace {

template <class T>
void expect_binary_round_trip(const T& value) {
  const auto bytes = to_binary(value);
  EXPECT_EQ(from_binary<T>(bytes), value);
  EXPECT_EQ(to_binary(from_binary<T>(bytes)), bytes);
}

template <class T>
void expect_round_trip(const T& value) {
  const std::string json = to_json(value);
  EXPECT_EQ(from_json<T>(json), value) << json;
  EXPECT_EQ(to_json(from_json<T>(json)), json);
  expect_binary_round_trip(value);
}

TEST(Codec, KeepsJobSpecs) {
  for (const JobSpec& spec : samples::specs()) expect_round_trip(spec);
  expect_round_trip(JobSpec{});
}

TEST(Codec, KeepsResults) {
  expect_round_trip(samples::result());
  expect_round_trip(Result{});
}

TEST(Codec, KeepsEvents) {
  for (const Event& event : samples::events()) expect_round_trip(event);
  expect_round_trip(Event{});
}

TEST(Codec, KeepsJobsAndPages) {
  for (const Job& job : samples::jobs()) expect_round_trip(job);
  expect_round_trip(JobPage{.jobs = samples::jobs(), .nextPageToken = "abc"});
  expect_round_trip(JobPage{});
}

TEST(Codec, KeepsErrors) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kForbidden); ++code)
    expect_round_trip(Error{static_cast<ErrorCode>(code), "message", "where"});
  expect_round_trip(Error{});
}

TEST(Codec, KeepsTheCatalogueAndTheServer) {
  expect_round_trip(samples::estimator());
  expect_round_trip(Catalogue{{samples::estimator(), EstimatorInfo{}}});
  expect_round_trip(samples::devices());
  expect_round_trip(DeviceList{});
  expect_round_trip(samples::server());
  expect_round_trip(ServerInfo{});
  expect_round_trip(samples::model());
  expect_round_trip(ModelInfo{});
  expect_round_trip(samples::profile());
  expect_round_trip(ModelProfile{});
  expect_round_trip(samples::drift_counts());
  expect_round_trip(DriftCounts{});
  expect_round_trip(samples::drift());
  expect_round_trip(ModelDrift{});
  expect_round_trip(samples::preview());
  expect_round_trip(DatasetPreview{});
  expect_round_trip(PreviewRequest{.dataset = samples::spec().dataset, .select = samples::spec().select});
  expect_round_trip(ModelPage{.models = {samples::model()}, .nextPageToken = "abc"});
}

TEST(Codec, KeepsWorkerMessages) {
  for (const WorkerCommand& command : samples::commands()) expect_binary_round_trip(command);
  for (const WorkerReport& report : samples::reports()) expect_binary_round_trip(report);
}

// Equal jobs have equal bytes, in every version: a repeated submission is known by their digest.
TEST(Codec, LaysThePartsOfASearchInTheOrderOfTheFileOfTheSchema) {
  const auto bytes = to_binary(samples::spec({BuiltinRef{"iris"}}, GridSearch{.refit = "f1_macro_x", .errorScore = "raise"}));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_LT(text.find("raise"), text.find("f1_macro_x"));
  EXPECT_NE(text.find("f1_macro_x"), text.npos);
}

TEST(Codec, GivesTheDefaultsOfTheValueTypesToWhatJsonLeavesOut) {
  const JobSpec spec = from_json<JobSpec>(
      R"({"dataset":{"url":{"url":"u"}},"pipeline":[{"estimator":"PCA"}],"task":{"crossValidate":{}}})");
  EXPECT_EQ(spec, (JobSpec{.dataset = {UrlRef{.url = "u"}},
                           .pipeline = {{.estimator = "PCA"}},
                           .task = CrossValidate{}}));
  EXPECT_EQ(std::get<FitScore>(
                from_json<JobSpec>(R"({"dataset":{"openml":{}},"pipeline":[],"task":{"fitScore":{}}})").task),
            FitScore{});
  EXPECT_EQ(from_json<Result>("{}"), Result{});
  EXPECT_EQ(from_json<ServerInfo>("{}"), ServerInfo{});
  EXPECT_EQ(from_json<Error>(R"({"code":"INTERNAL"})"), Error{});
  EXPECT_EQ(from_json<Event>(R"({"id":0,"state":{"state":"queued"}})"), Event{});
  EXPECT_EQ(std::get<ProgressEvent>(from_json<Event>(R"({"id":0,"progress":{}})").body), ProgressEvent{});
  EXPECT_EQ(std::get<MetricEvent>(from_json<Event>(R"({"id":0,"metric":{}})").body), MetricEvent{});
  EXPECT_EQ(std::get<TimingEvent>(from_json<Event>(R"({"id":0,"timing":{}})").body), TimingEvent{});
}

TEST(Codec, TakesNullForAnAbsentOptional) {
  const JobSpec spec = from_json<JobSpec>(
      R"({"dataset":{"builtin":"iris"},"select":{"rows":null,"dtype":null,"columns":null},"pipeline":[],
    "task":{"fitScore":{"testSize":null,"randomState":null}}})");
  EXPECT_EQ(spec.select, Select{});
  EXPECT_EQ(std::get<FitScore>(spec.task), FitScore{});
}

TEST(Codec, TakesANullValueForAnAbsentOneInBothForms) {
  JobSpec spec;
  spec.task = FitScore{.testSize = Value(nullptr)};
  JobSpec expected;
  expected.task = FitScore{};
  EXPECT_EQ(from_json<JobSpec>(to_json(spec)), expected);
  EXPECT_EQ(from_binary<JobSpec>(to_binary(spec)), expected);
}

TEST(Codec, DistinguishesAnEmptyOptionalTextFromAnAbsentOne) {
  JobSpec spec;
  spec.select.target = "";
  expect_round_trip(spec);
}

TEST(Codec, ReadsTheExampleOfTheDesign) {
  const JobSpec spec = from_json<JobSpec>(R"({
    "dataset":  {"openml": {"name": "mnist_784", "version": 1}},
    "select":   {"rows": 52667, "dtype": "float32", "scale": 0.00392156862745098},
    "pipeline": [
      {"estimator": "StandardScaler"},
      {"estimator": "RandomForestClassifier", "params": {"n_estimators": 200, "random_state": 42}}
    ],
    "task":     {"crossValidate": {"cv": 5, "scoring": ["accuracy"]}},
    "device":   "auto"
  })");
  const JobSpec expected{.dataset = {OpenmlRef{.name = "mnist_784", .version = 1}},
                         .select = {.rows = 52667, .dtype = "float32", .scale = 1 / 255.0},
                         .pipeline = {{.estimator = "StandardScaler"},
                                      {.estimator = "RandomForestClassifier",
                                       .params = {{"n_estimators", 200}, {"random_state", 42}}}},
                         .task = CrossValidate{.cv = 5, .scoring = {"accuracy"}}};
  EXPECT_EQ(spec, expected);
  EXPECT_EQ(
      to_json(spec),
      R"({"dataset":{"openml":{"name":"mnist_784","version":1}},"select":{"rows":52667,"dtype":"float32","scale":0.00392156862745098},)"
      R"("pipeline":[{"estimator":"StandardScaler"},{"estimator":"RandomForestClassifier","params":{"n_estimators":200,"random_state":42}}],)"
      R"("task":{"crossValidate":{"cv":5,"splitter":"auto","shuffle":false,"scoring":["accuracy"],"returnTrainScore":false}},"device":"auto"})");
}

TEST(Codec, WritesUnionsBareStringsAndErrorsAsTheApiShowsThem) {
  EXPECT_EQ(to_json(JobSpec{.dataset = {BuiltinRef{"iris"}}}),
            R"({"dataset":{"builtin":"iris"},"pipeline":[],"task":{"fit":{}},"device":"auto"})");
  EXPECT_EQ(to_json(Event{.id = 3, .time = "t", .body = MetricEvent{.name = "accuracy", .value = 1}}),
            R"({"id":3,"time":"t","metric":{"name":"accuracy","value":1.0}})");
  EXPECT_EQ(to_json(samples::error()),
            R"({"code":"BAD_DATA","message":"column 3 has NaN","where":"dataset"})");
}

TEST(Codec, NamesEventBodiesAsEventNameDoes) {
  for (const Event& event : samples::events())
    EXPECT_NE(to_json(event).find("\"" + std::string(event_name(event.body)) + "\":{"), std::string::npos);
}

TEST(Codec, NamesStatesAndCodesAsTheirFunctionsDo) {
  for (int state = 0; state <= static_cast<int>(JobState::kCancelled); ++state) {
    const auto s = static_cast<JobState>(state);
    EXPECT_NE(to_json(Job{.state = s}).find("\"state\":\"" + std::string(job_state_name(s)) + "\""),
              std::string::npos);
  }
  for (int code = 0; code <= static_cast<int>(ErrorCode::kForbidden); ++code) {
    const auto c = static_cast<ErrorCode>(code);
    EXPECT_NE(to_json(Error{c, ""}).find("\"code\":\"" + std::string(error_code_name(c)) + "\""),
              std::string::npos);
    EXPECT_EQ(error_code_from_name(error_code_name(c)), c);
  }
}

TEST(Codec, KeepsNanAndInfinityInNumberFields) {
  Result result;
  result.scores = {
      {"neg_log_loss", {.perFold = {INFINITY, -INFINITY, NAN, -0.0}, .mean = NAN, .std = INFINITY}}};
  const std::string json = to_json(result);
  EXPECT_NE(json.find(R"("perFold":["Infinity","-Infinity","NaN",-0.0],"mean":"NaN","std":"Infinity")"),
            std::string::npos)
      << json;
  const Score score = from_json<Result>(json).scores[0].second;
  EXPECT_EQ(score.perFold[0], INFINITY);
  EXPECT_EQ(score.perFold[1], -INFINITY);
  EXPECT_TRUE(std::isnan(score.perFold[2]));
  EXPECT_TRUE(std::signbit(score.perFold[3]));
  EXPECT_TRUE(std::isnan(score.mean));
}

TEST(Codec, MakesBadUtf8Valid) {
  const Event event{.id = 1, .body = LogEvent{.level = "info", .message = "a\xff\xc3z"}};
  const std::string expected = "a\xEF\xBF\xBD\xEF\xBF\xBDz";
  EXPECT_EQ(std::get<LogEvent>(from_json<Event>(to_json(event)).body).message, expected);
  EXPECT_EQ(std::get<LogEvent>(from_binary<Event>(to_binary(event)).body).message, expected);
}

TEST(Codec, CarriesAMillionNumbers) {
  std::vector<double> numbers(1'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1.0 / static_cast<double>(i + 1);
  Result result;
  result.fitted = {{"PCA", {{"components_", numbers}}}};
  result.scores = {{"accuracy", {.perFold = numbers}}};
  EXPECT_EQ(from_binary<Result>(to_binary(result)), result);
  const Result read = from_json<Result>(to_json(result));
  EXPECT_EQ(read.scores, result.scores);
  EXPECT_EQ(std::get<ValueList>(read.fitted[0].second[0].second.data).size(), numbers.size());
}

}  // namespace
}  // namespace kedge::schema
