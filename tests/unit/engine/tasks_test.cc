// Curves, permutation tests and inspections through Pipeline::run(): scikit-learn's numbers, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/job/curves.h"
#include "engine/job/fitted_size.h"
#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"
#include "tests/unit/engine/golden_cases.h"

namespace kedge::engine {
namespace {

using schema::JobSpec;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

// Lists of numbers and numbers, whatever they are kept as.
ValueList items_of(const Value& list) {
  if (const auto* flat = std::get_if<std::vector<double>>(&list.data)) return {flat->begin(), flat->end()};
  return std::get<ValueList>(list.data);
}

bool is_list(const Value& value) {
  return std::holds_alternative<std::vector<double>>(value.data) || std::holds_alternative<ValueList>(value.data);
}

// Everything expected is there: numbers within the tolerance, lists of the same shape.
void expect_like(const Value& found, const Value& expected, double tolerance, const std::string& path) {
  if (const auto* map = std::get_if<ValueMap>(&expected.data)) {
    for (const auto& [key, value] : *map)
      expect_like(at(std::get<ValueMap>(found.data), key), value, tolerance, path + "." + key);
  } else if (is_list(expected)) {
    const ValueList ours = items_of(found), theirs = items_of(expected);
    ASSERT_EQ(ours.size(), theirs.size()) << path;
    for (std::size_t i = 0; i < theirs.size(); ++i)
      expect_like(ours[i], theirs[i], tolerance, path + "[" + std::to_string(i) + "]");
  } else {
    EXPECT_NEAR(number(found), number(expected), tolerance * std::max(1.0, std::abs(number(expected)))) << path;
  }
}

const DatasetFile& dataset(const schema::DatasetRef& ref) {
  static const TemporaryFolder folder;
  static server::DatasetCache cache({.directory = folder.path()});
  static std::map<std::string, DatasetFile> open;
  const std::string name = schema::to_json(JobSpec{.dataset = ref});
  auto found = open.find(name);
  if (found == open.end())
    found = open.emplace(name, DatasetFile(cache.acquire(ref, [](schema::EventBody) {}, {}).path)).first;
  return found->second;
}

schema::Result run(const JobSpec& spec, Context ctx = {.device = cpu()}) {
  return Pipeline::build(spec).run(ctx, dataset(spec.dataset));
}

JobSpec spec_from(const std::string& json) {
  return schema::from_json<JobSpec>(json);
}

class GoldenTask : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTask, AgreesWithScikitLearn) {
  const ValueMap& golden = GetParam().values;
  const schema::Result result = run(spec_from(schema::value_to_json(at(golden, "spec"))));
  expect_like(result.evaluation, at(golden, "evaluation"), number(at(golden, "tolerance")), "evaluation");
  EXPECT_TRUE(!result.scores.empty() || GetParam().name.starts_with("Dependence"));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTask, testing::ValuesIn(golden_cases(KEDGE_SOURCE_FOLDER "/tasks_golden.json")),
                         [](const auto& info) { return info.param.name; });

std::string job(const std::string& task, const std::string& step = R"({"estimator": "GaussianNB"})") {
  return R"({"dataset": {"builtin": "iris"}, "pipeline": [)" + step + R"(], "task": )" + task + "}";
}

struct Refused {
  const char *task, *where, *says;
};

void expect_refused(const Refused& c, const std::string& step = R"({"estimator": "GaussianNB"})") {
  try {
    run(spec_from(job(c.task, step)));
    ADD_FAILURE() << c.task << " ran";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, c.where) << c.task << error.message;
    EXPECT_THAT(error.message, testing::HasSubstr(c.says)) << c.task;
  }
}

TEST(Curves, NameTheFieldThatIsWrong) {
  const Refused cases[] = {
      {R"({"learningCurve": {"trainSizes": [0.5, 1.5]}})", "task.learningCurve.trainSizes[1]",
       "must be above 0 and at most 1"},
      {R"({"learningCurve": {"trainSizes": [0]}})", "task.learningCurve.trainSizes[0]", "at least 1 row"},
      {R"({"learningCurve": {"trainSizes": [10, "many"]}})", "task.learningCurve.trainSizes[1]", "must be a number"},
      {R"({"learningCurve": {"trainSizes": [10, 121]}})", "task.learningCurve.trainSizes[1]",
       "the first fold has 120 train rows"},
      {R"({"learningCurve": {"randomState": 1}})", "task.learningCurve.randomState", "no effect without shuffle"},
      {R"({"learningCurve": {"crossValidate": {"curves": true}}})", "task.learningCurve.crossValidate",
       "a learning curve reports no"},
      {R"({"learningCurve": {"crossValidate": {"cv": 1}}})", "task.learningCurve.crossValidate.cv", "cv is 1"},
      {R"({"learningCurve": {"errorScore": "none"}})", "task.learningCurve.errorScore", "errorScore is"},
      {R"({"validationCurve": {"paramName": "", "paramRange": [1]}})", "task.validationCurve.paramName", "is empty"},
      {R"({"validationCurve": {"paramName": "gaussiannb__var_smoothing", "paramRange": []}})",
       "task.validationCurve.paramRange", "is empty"},
      {R"({"validationCurve": {"paramName": "gausiannb__var_smoothing", "paramRange": [1]}})",
       "task.validationCurve.paramRange", "has no parameter"},
      {R"({"validationCurve": {"paramName": "gaussiannb__var_smoothing", "paramRange": [-1.0]}})",
       "task.validationCurve.paramRange", "var_smoothing"},
      {R"({"permutationTestScore": {"nPermutations": 0}})", "task.permutationTestScore.nPermutations",
       "from 1 to 100000"},
      {R"({"permutationTestScore": {"randomState": -1}})", "task.permutationTestScore.randomState", "from 0 to"},
      {R"({"permutationTestScore": {"crossValidate": {"returnTrainScore": true}}})",
       "task.permutationTestScore.crossValidate.returnTrainScore", "no train scores"},
      {R"({"permutationTestScore": {"crossValidate": {"scoring": ["r2"]}}})",
       "task.permutationTestScore.crossValidate.scoring[0]", "scores numbers"}};
  for (const Refused& c : cases) expect_refused(c);
}

TEST(Inspections, NameTheFieldThatIsWrong) {
  const Refused cases[] = {
      {R"({"permutationImportance": {"nRepeats": 0}})", "task.permutationImportance.nRepeats", "from 1 to"},
      {R"({"permutationImportance": {"maxSamples": 1.5}})", "task.permutationImportance.maxSamples", "at most 1"},
      {R"({"permutationImportance": {"maxSamples": 151}})", "task.permutationImportance.maxSamples",
       "there are 150 rows"},
      {R"({"permutationImportance": {"maxSamples": 0.001}})", "task.permutationImportance.maxSamples", "which is none"},
      {R"({"permutationImportance": {"scoring": ["acuracy"]}})", "task.permutationImportance.scoring[0]",
       "did you mean 'accuracy'"},
      {R"({"permutationImportance": {"fitScore": {"testSize": 0}}})", "task.permutationImportance.fitScore.testSize",
       "at least 1 row"},
      {R"({"permutationImportance": {"fitScore": {"scoring": ["accuracy"]}}})", "task.permutationImportance.fitScore",
       "no effect"},
      {R"({"partialDependence": {"features": []}})", "task.partialDependence.features", "is empty"},
      {R"({"partialDependence": {"features": [4]}})", "task.partialDependence.features[0]", "column 4 of 4"},
      {R"({"partialDependence": {"features": [0, [1, -1]]}})", "task.partialDependence.features[1][1]", "count from 0"},
      {R"({"partialDependence": {"features": [[1, 1]]}})", "task.partialDependence.features[0]", "are the same"},
      {R"({"partialDependence": {"features": [[0, 1, 2]]}})", "task.partialDependence.features[0]", "one or two"},
      {R"({"partialDependence": {"features": ["petal"]}})", "task.partialDependence.features[0]", "no column 'petal'"},
      {R"({"partialDependence": {"features": [0.5]}})", "task.partialDependence.features[0]",
       "must be the name or the position"},
      {R"({"partialDependence": {"features": [0], "gridResolution": 1}})", "task.partialDependence.gridResolution",
       "from 2 to"},
      {R"({"partialDependence": {"features": [0], "percentiles": [0.9, 0.1]}})", "task.partialDependence.percentiles",
       "the smaller one first"},
      {R"({"partialDependence": {"features": [0], "gridResolution": 3, "percentiles": [0.5, 0.500001]}})",
       "task.partialDependence.percentiles", "further apart"},
      {R"({"partialDependence": {"features": [0], "kind": "all"}})", "task.partialDependence.kind",
       "must be average, individual, both"},
      {R"({"partialDependence": {"features": [0], "responseMethod": "decision_function"}})",
       "task.partialDependence.responseMethod", "which GaussianNB does not have"}};
  for (const Refused& c : cases) expect_refused(c);
  expect_refused({R"({"partialDependence": {"features": [0]}})", "pipeline", "needs a classifier or a regressor"},
                 R"({"estimator": "KMeans"})");
}

TEST(Inspections, BoundTheAnswer) {
  const std::string csv = [] {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 3000; ++i)
      text += std::to_string(i * 0.5) + "," + std::to_string(i * 0.25) + "," + std::to_string(i % 7) + "\n";
    return text;
  }();
  JobSpec spec = spec_from(
      job(R"({"partialDependence": {"features": [["a", "b"]], "gridResolution": 3000}})", R"({"estimator": "Ridge"})"));
  spec.dataset = {schema::InlineRef{.csv = csv, .target = "y"}};
  try {
    run(spec);
    ADD_FAILURE() << "nine million points were answered";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "task.partialDependence.kind");
    EXPECT_THAT(error.message, testing::HasSubstr("9000000 numbers, at most 4194304"));
  }
}

TEST(Inspections, NameCategoriesInTheirGrid) {
  JobSpec spec = spec_from(job(R"({"partialDependence": {"features": ["colour"], "kind": "both"}})",
                               R"({"estimator": "HistGradientBoostingClassifier"})"));
  spec.dataset = {schema::InlineRef{.csv = "colour,size,y\nred,1,a\nblue,2,b\nred,3,a\ngreen,4,b\nblue,5,b\nred,6,a\n",
                                    .target = "y"}};
  const schema::Result result = run(spec);
  const auto& entry =
      std::get<ValueMap>(std::get<ValueList>(at(result.evaluation, "partial_dependence").data).at(0).data);
  const ValueList axis = std::get<ValueList>(std::get<ValueList>(at(entry, "grid_values").data).at(0).data);
  EXPECT_THAT(axis, testing::UnorderedElementsAre(Value("red"), Value("blue"), Value("green")));
  EXPECT_EQ(items_of(items_of(items_of(at(entry, "individual"))[0])[5]).size(), 3U);
}

TEST(Inspections, StoreTheModelOfAllRows) {
  const TemporaryFolder folder;
  for (const bool divides : {false, true}) {
    const std::string part = divides ? R"("fitScore": {"testSize": 0.2})" : "";
    const JobSpec spec = spec_from(job(R"({"permutationImportance": {)" + part + "}}"));
    RunFiles files{.model_file = folder.path() / (divides ? "b" : "a")};
    Pipeline::build(spec).run({.device = cpu()}, dataset(spec.dataset), {}, &files);
    EXPECT_EQ(files.model.has_value(), !divides);
  }
}

TEST(Curves, CountTrainRowsAsScikitLearnDoes) {
  EXPECT_THAT(train_counts({}, 100), testing::ElementsAre(10, 32, 55, 77, 100));
  EXPECT_THAT(train_counts({0.001, 1}, 7), testing::ElementsAre(1, 7));
  EXPECT_THAT(train_counts({5, 3, 5}, 7), testing::ElementsAre(3, 5));
}

TEST(Curves, ScoreAFitThatFailsAsTheTaskSays) {
  const std::string task =
      R"({"learningCurve": {"trainSizes": [2, 100], "errorScore": -1, "crossValidate": {"splitter": "KFold", "cv": 3}}})";
  const schema::Result result = run(spec_from(job(task, R"({"estimator": "KNeighborsClassifier"})")));
  const auto& curve = std::get<ValueMap>(at(result.evaluation, "learning_curve").data);
  const ValueList scores = items_of(at(std::get<ValueMap>(at(curve, "test_scores").data), "accuracy"));
  for (const Value& score : items_of(scores[0])) EXPECT_EQ(number(score), -1);   // two rows have no five neighbours
  for (const Value& score : items_of(scores[1])) EXPECT_GE(number(score), 0);
  EXPECT_FALSE(result.warnings.empty());
}

TEST(Tasks, StopWhenTheJobIsCancelled) {
  for (const char* task :
       {R"({"learningCurve": {}})",
        R"({"validationCurve": {"paramName": "gaussiannb__var_smoothing", "paramRange": [1e-9, 1e-8]}})",
        R"({"permutationTestScore": {}})", R"({"permutationImportance": {}})",
        R"({"partialDependence": {"features": [0, 1]}})"}) {
    std::stop_source stop;
    Context ctx{.device = cpu(), .stop = stop.get_token()};
    ctx.emit = [&](const schema::EventBody& body) {
      const auto* progress = std::get_if<schema::ProgressEvent>(&body);
      if (progress && progress->done > 0) stop.request_stop();
    };
    try {
      run(spec_from(job(task)), ctx);
      ADD_FAILURE() << task << " ended";
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kCancelled) << task;
    }
  }
}

TEST(Tasks, ReportTheirProgressToTheEnd) {
  const std::map<std::string, std::int64_t> totals{
      {R"({"learningCurve": {"crossValidate": {"cv": 3}}})", 15},
      {R"({"permutationTestScore": {"nPermutations": 4}})", 4},
      {R"({"permutationImportance": {"nRepeats": 2}})", 8},
      {R"({"partialDependence": {"features": [0, 1], "gridResolution": 5}})", 10}};
  for (const auto& [task, total] : totals) {
    std::vector<schema::ProgressEvent> seen;
    Context ctx{.device = cpu()};
    ctx.emit = [&](const schema::EventBody& body) {
      if (const auto* progress = std::get_if<schema::ProgressEvent>(&body)) seen.push_back(*progress);
    };
    run(spec_from(job(task)), ctx);
    ASSERT_FALSE(seen.empty()) << task;
    EXPECT_EQ(seen.back().total, total) << task;
    EXPECT_EQ(seen.back().done, total) << task;
  }
}

TEST(FittedSize, RefusesAttributesThatNoMessageHolds) {
  const std::vector<double> thousand(1000);
  const std::vector<std::pair<std::string, ValueMap>> fitted = {
      {"TfidfVectorizer", {{"vocabulary_", Value()}, {"idf_", Value(thousand)}}},
      {"SGDClassifier",
       {{"coef_", Value(ValueList{Value(thousand), Value(thousand)})}, {"classes_", Value(ValueList{"a", "b"})}}}};
  EXPECT_NO_THROW(require_small(fitted, 25'000));
  try {
    require_small(fitted, 24'000);
    FAIL() << "24,000 bytes hold 3,000 numbers without their names";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBodyTooLarge);
    EXPECT_EQ(error.message.substr(0, 25), "SGDClassifier: coef_ has ");
  }
}

}   // namespace
}   // namespace kedge::engine
