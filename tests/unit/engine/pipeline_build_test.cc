// Pipeline::build(): every rule of a job description, with code, path and words of its error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "engine/pipeline.h"

namespace kedge::engine {
namespace {

using schema::CrossValidate;
using schema::ErrorCode;
using schema::FitScore;
using schema::JobSpec;
using schema::Value;

JobSpec good_spec() {
  return {.dataset = {schema::BuiltinRef{"iris"}},
          .pipeline = {{"StandardScaler", {}}, {"GaussianNB", {}}},
          .task = CrossValidate{.cv = 5, .scoring = {"accuracy", "f1_macro"}}};
}

struct BadCase {
  std::string name;
  std::function<void(JobSpec&)> spoil;
  ErrorCode code;
  std::string where;
  std::string words;   // part of the message
};
void PrintTo(const BadCase& c, std::ostream* out) { *out << c.name; }

schema::Step trees(Value n) { return {"RandomForestClassifier", {{"n_estimators", std::move(n)}}}; }
void cv(JobSpec& spec, CrossValidate task) { spec.task = std::move(task); }
void split(JobSpec& spec, FitScore task) { spec.task = std::move(task); }

const std::vector<BadCase>& bad_cases() {
  static const double kNan = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<BadCase> cases = {
      {"EmptyPipeline", [](JobSpec& s) { s.pipeline.clear(); }, ErrorCode::kInvalidValue, "pipeline", "is empty"},
      {"UnknownEstimator", [](JobSpec& s) { s.pipeline[1].estimator = "GausianNB"; }, ErrorCode::kUnknownEstimator,
       "pipeline[1].estimator", "unknown estimator 'GausianNB'; did you mean 'GaussianNB'?"},
      {"UnknownEstimatorWithoutNeighbour", [](JobSpec& s) { s.pipeline[0].estimator = "zzzzzzzzzzzzzzzzzzzz"; },
       ErrorCode::kUnknownEstimator, "pipeline[0].estimator", "unknown estimator 'zzzzzzzzzzzzzzzzzzzz'"},
      {"UnknownParameter", [](JobSpec& s) { s.pipeline[1].params = {{"var_smothing", 1e-9}}; },
       ErrorCode::kUnknownParameter, "pipeline[1].params.var_smothing", "var_smoothing"},
      {"ParameterOfWrongType", [](JobSpec& s) { s.pipeline[0].params = {{"with_mean", "many"}}; },
       ErrorCode::kWrongType, "pipeline[0].params.with_mean", "many"},
      {"ParameterOutOfBounds", [](JobSpec& s) { s.pipeline[1].params = {{"var_smoothing", -1.0}}; },
       ErrorCode::kInvalidValue, "pipeline[1].params.var_smoothing", "-1"},
      {"NoTrees", [](JobSpec& s) { s.pipeline[1] = trees(0); }, ErrorCode::kInvalidValue,
       "pipeline[1].params.n_estimators", "RandomForestClassifier: n_estimators is 0, must be at least 1"},
      {"NegativeTrees", [](JobSpec& s) { s.pipeline[1] = trees(-1); }, ErrorCode::kInvalidValue,
       "pipeline[1].params.n_estimators", "n_estimators is -1"},
      {"ABillionTimesAThousandTrees", [](JobSpec& s) { s.pipeline[1] = trees(std::int64_t{1'000'000'000'000}); },
       ErrorCode::kInvalidValue, "pipeline[1].params.n_estimators", "n_estimators is 1000000000000"},
      {"TreesInExponentForm", [](JobSpec& s) { s.pipeline[1] = trees(1e12); }, ErrorCode::kInvalidValue,
       "pipeline[1].params.n_estimators", "n_estimators is "},
      {"TreesInWords", [](JobSpec& s) { s.pipeline[1] = trees("many"); }, ErrorCode::kWrongType,
       "pipeline[1].params.n_estimators", "many"},
      {"ClassifierInTheMiddle", [](JobSpec& s) { std::swap(s.pipeline[0], s.pipeline[1]); }, ErrorCode::kInvalidValue,
       "pipeline[0]", "GaussianNB is a classifier, only the last step may be one"},
      {"CrossValidateWithoutClassifier", [](JobSpec& s) { s.pipeline.pop_back(); }, ErrorCode::kInvalidValue,
       "pipeline[0]", "crossValidate needs a last step that predicts, StandardScaler is a transformer"},
      {"FitScoreWithoutClassifier", [](JobSpec& s) { s.pipeline.pop_back(), s.task = FitScore{}; },
       ErrorCode::kInvalidValue, "pipeline[0]", "fitScore needs a last step that predicts"},
      {"OneFold", [](JobSpec& s) { cv(s, {.cv = 1}); }, ErrorCode::kInvalidValue, "task.crossValidate.cv",
       "cv is 1, must be at least 2"},
      {"NegativeFolds", [](JobSpec& s) { cv(s, {.cv = -3}); }, ErrorCode::kInvalidValue, "task.crossValidate.cv",
       "cv is -3"},
      {"UnknownSplitter", [](JobSpec& s) { cv(s, {.splitter = "Kfold"}); }, ErrorCode::kInvalidValue,
       "task.crossValidate.splitter", "did you mean 'KFold'?"},
      {"UnknownScorer", [](JobSpec& s) { cv(s, {.scoring = {"accuracy", "acuracy"}}); }, ErrorCode::kInvalidValue,
       "task.crossValidate.scoring[1]", "did you mean 'accuracy'?"},
      {"ScorerNamedTwice", [](JobSpec& s) { split(s, {.scoring = {"accuracy", "accuracy"}}); },
       ErrorCode::kInvalidValue, "task.fitScore.scoring[1]", "named twice"},
      {"SeedWithoutShuffle", [](JobSpec& s) { cv(s, {.randomState = 1}); }, ErrorCode::kInvalidValue,
       "task.crossValidate.randomState", "no effect without shuffle"},
      {"SeedOf33Bits", [](JobSpec& s) { cv(s, {.shuffle = true, .randomState = std::int64_t{1} << 32}); },
       ErrorCode::kInvalidValue, "task.crossValidate.randomState", "from 0 to 4294967295"},
      {"TestSizeAboveOne", [](JobSpec& s) { split(s, {.testSize = Value(1.5)}); }, ErrorCode::kInvalidValue,
       "task.fitScore.testSize", "testSize is 1.5"},
      {"TestSizeNan", [](JobSpec& s) { split(s, {.testSize = Value(kNan)}); }, ErrorCode::kInvalidValue,
       "task.fitScore.testSize", "fraction between 0 and 1"},
      {"TrainSizeZero", [](JobSpec& s) { split(s, {.trainSize = Value(0)}); }, ErrorCode::kInvalidValue,
       "task.fitScore.trainSize", "trainSize is 0, must be at least 1"},
      {"TrainSizeText", [](JobSpec& s) { split(s, {.trainSize = Value("half")}); }, ErrorCode::kWrongType,
       "task.fitScore.trainSize", "must be a number"},
      {"SizesAboveOneTogether", [](JobSpec& s) { split(s, {.testSize = Value(0.6), .trainSize = Value(0.5)}); },
       ErrorCode::kInvalidValue, "task.fitScore.trainSize", "must be at most 1"},
      {"StratifyInOrder", [](JobSpec& s) { split(s, {.shuffle = false, .stratify = true}); }, ErrorCode::kInvalidValue,
       "task.fitScore.stratify", "needs shuffle"},
      {"NoRows", [](JobSpec& s) { s.select.rows = 0; }, ErrorCode::kInvalidValue, "select.rows",
       "rows is 0, must be at least 1"},
      {"UnknownDtype", [](JobSpec& s) { s.select.dtype = "float16"; }, ErrorCode::kInvalidValue, "select.dtype",
       "must be float32 or float64"},
      {"ScaleNan", [](JobSpec& s) { s.select.scale = kNan; }, ErrorCode::kInvalidValue, "select.scale",
       "must be finite"},
      {"ColumnNamedTwice", [](JobSpec& s) { s.select.columns = {"a", "b", "a"}; }, ErrorCode::kInvalidValue,
       "select.columns[2]", "column 'a' is named twice"},
      {"UnknownDevice", [](JobSpec& s) { s.device = "gpu"; }, ErrorCode::kInvalidValue, "device", "device is 'gpu'"},
      {"DeviceIndexWithText", [](JobSpec& s) { s.device = "cuda:1x"; }, ErrorCode::kInvalidValue, "device", "cuda:N"},
      {"DeviceIndexMissing", [](JobSpec& s) { s.device = "cuda:"; }, ErrorCode::kInvalidValue, "device", "cuda:N"},
      {"OpenmlWithoutName", [](JobSpec& s) { s.dataset = {schema::OpenmlRef{}}; }, ErrorCode::kInvalidValue,
       "dataset.openml", "needs a name or an id"},
      {"OpenmlWithNameAndId", [](JobSpec& s) { s.dataset = {schema::OpenmlRef{.name = "a", .id = 3}}; },
       ErrorCode::kInvalidValue, "dataset.openml", "not both"},
      {"UrlFormat", [](JobSpec& s) { s.dataset = {schema::UrlRef{.url = "http://a/b", .format = "xls"}}; },
       ErrorCode::kInvalidValue, "dataset.url.format", "must be csv, arff, libsvm, parquet or arrow"},
      {"UrlDigest", [](JobSpec& s) { s.dataset = {schema::UrlRef{.url = "http://a/b", .sha256 = "12ab"}}; },
       ErrorCode::kInvalidValue, "dataset.url.sha256", "64 hexadecimal digits"},
      {"UrlMissing", [](JobSpec& s) { s.dataset = {schema::UrlRef{}}; }, ErrorCode::kInvalidValue, "dataset.url.url",
       "url is empty"},
      {"UrlAndUrls", [](JobSpec& s) { s.dataset = {schema::UrlRef{.url = "http://a/b", .urls = {"http://a/c"}}}; },
       ErrorCode::kInvalidValue, "dataset.url.urls", "url is given as well"},
      {"UrlsOfAStore", [](JobSpec& s) { s.dataset = {schema::UrlRef{.urls = {"http://a/b", "s3://a/c"}}}; },
       ErrorCode::kInvalidValue, "dataset.url.urls[1]", "'s3://a/c', must begin with http:// or https://"},
      {"UrlsTooMany",
       [](JobSpec& s) { s.dataset = {schema::UrlRef{.urls = std::vector<std::string>(1001, "http://a/b")}}; },
       ErrorCode::kInvalidValue, "dataset.url.urls", "has 1001 addresses, at most 1000"},
      {"SklearnWithoutName", [](JobSpec& s) { s.dataset = {schema::SklearnRef{}}; }, ErrorCode::kInvalidValue,
       "dataset.sklearn", "is empty"},
      {"InlineEmpty", [](JobSpec& s) { s.dataset = {schema::InlineRef{}}; }, ErrorCode::kInvalidValue,
       "dataset.inline.csv", "csv is empty"},
  };
  return cases;
}

class PipelineBuildRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(PipelineBuildRefuses, WithCodePathAndWords) {
  JobSpec spec = good_spec();
  GetParam().spoil(spec);
  try {
    Pipeline::build(spec);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const schema::Error& error) {
    EXPECT_EQ(schema::error_code_name(error.code), schema::error_code_name(GetParam().code));
    EXPECT_EQ(error.where, GetParam().where);
    EXPECT_THAT(error.message, testing::HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, PipelineBuildRefuses, testing::ValuesIn(bad_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(PipelineBuild, AcceptsEveryTaskAndDevice) {
  JobSpec spec = good_spec();
  for (const char* device : {"auto", "cpu", "cuda", "cuda:0", "cuda:15"}) {
    spec.device = device;
    EXPECT_NO_THROW(Pipeline::build(spec)) << device;
  }
  for (const schema::Task& task : std::vector<schema::Task>{
           schema::Fit{}, FitScore{}, FitScore{.testSize = Value(10), .trainSize = Value(0.5), .stratify = true, .randomState = 3},
           FitScore{.shuffle = false}, CrossValidate{.splitter = "KFold", .shuffle = true, .randomState = 0xffffffff}}) {
    spec.task = task;
    EXPECT_NO_THROW(Pipeline::build(spec));
  }
}

TEST(PipelineBuild, LetsAFitEndInATransformer) {
  JobSpec spec = good_spec();
  spec.pipeline.pop_back();
  spec.task = schema::Fit{};
  EXPECT_NO_THROW(Pipeline::build(spec));
}

}  // namespace
}  // namespace kedge::engine
