// Searches and splitters through Pipeline::run(): the candidates, folds, scores and ranks of scikit-learn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"
#include "tests/unit/engine/golden_cases.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::JobSpec;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr double kScoreTolerance = 1e-12;   // accuracies: counts divided, and their mean
constexpr double kParamTolerance = 1e-15;   // exp and log of another C library

std::vector<double> numbers(const Value& value) {
  if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) return *flat;
  std::vector<double> result;
  for (const Value& item : std::get<ValueList>(value.data)) result.push_back(number(item));
  return result;
}

schema::Result run(const JobSpec& spec, Context ctx = {.device = cpu()}) {
  return Pipeline::build(spec).run(ctx, builtin(std::get<schema::BuiltinRef>(spec.dataset.source).name));
}

JobSpec spec_from(const std::string& json) { return schema::from_json<JobSpec>(json); }

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
}

// scikit-learn's parameters hold the numbers only; ours have steps too.
void expect_params(const Value& found, const Value& expected) {
  const auto& rows = std::get<ValueList>(found.data);
  const auto& wanted = std::get<ValueList>(expected.data);
  ASSERT_EQ(rows.size(), wanted.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [path, value] : std::get<ValueMap>(wanted[i].data)) {
      const Value& ours = at(std::get<ValueMap>(rows[i].data), path);
      if (std::holds_alternative<bool>(value.data)) EXPECT_EQ(ours, value) << path;
      else EXPECT_NEAR(number(ours), number(value), kParamTolerance * std::max(1.0, std::abs(number(value)))) << i << " " << path;
    }
  }
}

// How many candidates each round of a halving search has, and with how much of the resource.
void expect_rounds(const ValueMap& results, const ValueMap& golden) {
  std::vector<double> candidates, resources;
  const std::vector<double> iterations = numbers(at(results, "iter")), amounts = numbers(at(results, "n_resources"));
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (i == 0 || iterations[i] != iterations[i - 1]) candidates.push_back(0), resources.push_back(amounts[i]);
    ++candidates.back();
  }
  EXPECT_EQ(candidates, numbers(at(golden, "n_candidates")));
  EXPECT_EQ(resources, numbers(at(golden, "n_resources")));
}

class GoldenSearch : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenSearch, AgreesWithScikitLearn) {
  const ValueMap& golden = GetParam().values;
  const schema::Result result = run(spec_from(schema::value_to_json(at(golden, "spec"))));
  if (!result.search) {
    const bool has_own = std::any_of(golden.begin(), golden.end(), [](const auto& item) { return item.first == "tolerance"; });
    expect_near(result.scores.at(0).second.perFold, numbers(at(golden, "scores")), has_own ? number(at(golden, "tolerance")) : kScoreTolerance);
    return;
  }
  const ValueMap& found = result.search->cvResults;
  expect_params(at(found, "params"), at(golden, "params"));
  expect_near(numbers(at(found, "mean_test_score")), numbers(at(golden, "mean_test_score")), kScoreTolerance);
  expect_near(numbers(at(found, "rank_test_score")), numbers(at(golden, "rank_test_score")), 0);
  EXPECT_EQ(static_cast<double>(result.search->bestIndex), number(at(golden, "best_index")));
  EXPECT_FALSE(result.fitted.empty());
  if (GetParam().name.starts_with("Halving")) expect_rounds(found, golden);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenSearch,
                         testing::ValuesIn(golden_cases(KEDGE_SOURCE_FOLDER "/search_golden.json")),
                         [](const auto& info) { return info.param.name; });

const char* const kGrid = R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "PCA"},
  {"estimator": "GaussianNB"}], "task": {"gridSearch": {"paramGrid": {"pca__n_components": [2, 90], "gaussiannb__var_smoothing": [1e-9]}}}})";

TEST(Search, ScoresACandidateThatFailsAsNaNAndContinues) {
  const schema::Result result = run(spec_from(kGrid));
  const std::vector<double> means = numbers(at(result.search->cvResults, "mean_test_score"));
  EXPECT_TRUE(std::isnan(means[1]));
  EXPECT_EQ(result.search->bestIndex, 0);
  EXPECT_EQ(numbers(at(result.search->cvResults, "rank_test_score")), (std::vector<double>{1, 2}));
  EXPECT_THAT(result.warnings, testing::Contains(testing::HasSubstr("n_components")));
}

TEST(Search, FailsTheJobWhenErrorsAreToBeRaised) {
  JobSpec spec = spec_from(kGrid);
  std::get<schema::GridSearch>(spec.task).errorScore = "raise";
  EXPECT_THROW(run(spec), schema::Error);
}

TEST(Search, FailsWhenEveryFitDoes) {
  JobSpec spec = spec_from(kGrid);
  auto& search = std::get<schema::GridSearch>(spec.task);
  search.paramGrid = ValueMap{{"pca__n_components", ValueList{80, 90}}};
  search.refit = false;
  try {
    run(spec);
    FAIL() << "gave a result";
  } catch (const schema::Error& error) {
    EXPECT_THAT(error.message, testing::HasSubstr("all 10 fits of the search failed"));
  }
}

TEST(Search, StopsWhenAskedTo) {
  std::stop_source stop;
  stop.request_stop();
  try {
    run(spec_from(kGrid), {.device = cpu(), .stop = stop.get_token()});
    FAIL() << "went on";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
  }
}

// A search reports its beginning, and a step for every candidate and fold.
TEST(Search, ReportsProgressForEveryFit) {
  Context ctx{.device = cpu()};
  std::vector<std::int64_t> done;
  ctx.emit = [&](const schema::EventBody& body) {
    if (const auto* progress = std::get_if<schema::ProgressEvent>(&body); progress && progress->phase == "candidate") done.push_back(progress->done);
  };
  run(spec_from(kGrid), ctx);
  EXPECT_THAT(done, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

struct BadSpec {
  std::string name, json, where, words;
  friend void PrintTo(const BadSpec& c, std::ostream* out) { *out << c.name; }
};

std::string with_task(const std::string& task) {
  return R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "PCA"}, {"estimator": "GaussianNB"}], "task": )" + task + "}";
}

class RefusesTask : public testing::TestWithParam<BadSpec> {};

TEST_P(RefusesTask, WithPathAndWords) {
  try {
    run(spec_from(GetParam().json));
    FAIL() << "took it";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, GetParam().where);
    EXPECT_THAT(error.message, testing::HasSubstr(GetParam().words));
  }
}

const std::vector<BadSpec> kBadSpecs = {
    {"UnknownStep", with_task(R"({"gridSearch": {"paramGrid": {"pcb__n_components": [1]}}})"),
     "task.gridSearch.paramGrid.pcb__n_components", "no step 'pcb'; did you mean 'pca'?"},
    {"UnknownParameter", with_task(R"({"gridSearch": {"paramGrid": {"pca__n_component": [1]}}})"), "task.gridSearch.paramGrid",
     "n_components"},
    {"EmptyList", with_task(R"({"gridSearch": {"paramGrid": {"pca__n_components": []}}})"), "task.gridSearch.paramGrid.pca__n_components",
     "empty list"},
    {"NoList", with_task(R"({"gridSearch": {"paramGrid": {"pca__n_components": 3}}})"), "task.gridSearch.paramGrid.pca__n_components",
     "must be a list"},
    {"TooLarge", with_task(R"({"gridSearch": {"paramGrid": [{"pca__n_components": [-1]}]}})"), "task.gridSearch.paramGrid", "n_components is -1"},
    {"SeveralScorers",
     with_task(R"({"gridSearch": {"paramGrid": {"pca__n_components": [1]}, "crossValidate": {"scoring": ["accuracy", "f1_macro"]}}})"),
     "task.gridSearch.refit", "several scorers"},
    {"RegressionScorer", with_task(R"({"crossValidate": {"scoring": ["r2"]}})"), "task.crossValidate.scoring[0]", "'r2' scores numbers"},
    {"GroupsMissing", with_task(R"({"crossValidate": {"splitter": "GroupKFold"}})"), "select.groups", "GroupKFold needs groups"},
    {"ForeignArgument", with_task(R"({"crossValidate": {"splitter": "KFold", "gap": 1}})"), "task.crossValidate.gap", "KFold has no such argument"},
    {"BadDistribution",
     with_task(R"({"randomizedSearch": {"paramDistributions": {"gaussiannb__var_smoothing": {"loguniform": [0, 1]}}}})"),
     "task.randomizedSearch.paramDistributions.gaussiannb__var_smoothing.loguniform", "greater than 0"},
    {"ResourceWithoutMaximum",
     with_task(R"({"halvingGridSearch": {"paramGrid": {"gaussiannb__var_smoothing": [1e-9]}, "resource": "pca__n_components"}})"),
     "task.halvingGridSearch.maxResources", "maxResources is needed"},
    {"MoreRowsThanThereAre", with_task(R"({"halvingGridSearch": {"paramGrid": {"pca__n_components": [1]}, "maxResources": 1000}})"),
     "task.halvingGridSearch.maxResources", "there are 150 rows"},
};

INSTANTIATE_TEST_SUITE_P(Specs, RefusesTask, testing::ValuesIn(kBadSpecs), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kedge::engine
