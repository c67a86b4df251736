// Fits within a fit on several ranks: who makes which, and the results of one process.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/estimators/meta/dealt_fits.h"
#include "tests/unit/engine/jobs_on_ranks.h"

namespace kedge::engine {
namespace {

using schema::JobSpec;
using testing::HasSubstr;

// Estimators made of others, of which ranks make some each.
DealtJob fits_job(const char* name, const char* data, const char* steps, const char* task = "fitScore") {
  return {name, fmt::format(R"({{"dataset": {{"builtin": "{}"}}, "pipeline": [{}], "task": {{"{}": {{}}}}}})", data,
                            steps, task)};
}

std::vector<DealtJob> dealt_fits() {
  return {
      fits_job("Bag", "digits",
               R"({"estimator": "BaggingClassifier", "params": {"n_estimators": 9, "oob_score": true,
                  "max_features": 0.5, "random_state": 3}})",
               "fit"),
      fits_job("BagOfNeighbours", "iris",
               R"({"estimator": "BaggingClassifier", "params": {"estimator": {"estimator": "KNeighborsClassifier"}}})"),
      fits_job("BagOfNeighboursWithScores", "diabetes",
               R"({"estimator": "BaggingRegressor", "params": {"estimator": {"estimator": "KNeighborsRegressor"},
                  "oob_score": true}})"),
      fits_job("BagOfPipelines", "wine",
               R"({"estimator": "BaggingClassifier", "params": {"n_estimators": 5,
                  "estimator": [{"estimator": "StandardScaler"}, {"estimator": "SVC"}]}})"),
      fits_job("BagOfFewForests", "iris",
               R"({"estimator": "BaggingClassifier", "params": {"n_estimators": 2,
                  "estimator": {"estimator": "RandomForestClassifier", "params": {"n_estimators": 7}}}})"),
      fits_job(
          "Votes", "wine",
          R"({"estimator": "StandardScaler"}, {"estimator": "VotingClassifier", "params": {"voting": "soft", "estimators": [
                  ["lines", {"estimator": "LogisticRegression", "params": {"max_iter": 2}}],
                  ["forest", {"estimator": "RandomForestClassifier", "params": {"n_estimators": 30}}],
                  ["near", {"estimator": "KNeighborsClassifier"}],
                  ["net", {"estimator": "MLPClassifier", "params": {"max_iter": 3}}],
                  ["normal", {"estimator": "GaussianNB"}]]}})",
          "fit"),
      fits_job("VotesOfValues", "diabetes",
               R"({"estimator": "VotingRegressor", "params": {"estimators": [
                  ["ridge", {"estimator": "Ridge"}], ["tree", {"estimator": "DecisionTreeRegressor"}],
                  ["bag", {"estimator": "BaggingRegressor", "params": {"n_estimators": 3}}]]}})",
               "fit"),
      fits_job("Stack", "wine",
               R"({"estimator": "StackingClassifier", "params": {"passthrough": true, "cv": 3, "estimators": [
                  ["trees", {"estimator": "ExtraTreesClassifier", "params": {"n_estimators": 5}}],
                  ["near", {"estimator": "KNeighborsClassifier"}],
                  ["vectors", [{"estimator": "StandardScaler"}, {"estimator": "SVC"}]]]}})"),
      fits_job("StackOfTwoClasses", "breast_cancer",
               R"({"estimator": "StackingClassifier", "params": {"estimators": [
                  ["normal", {"estimator": "GaussianNB"}], ["tree", {"estimator": "DecisionTreeClassifier"}]]}})",
               "fit"),
      fits_job("StackOfValues", "diabetes",
               R"({"estimator": "StackingRegressor", "params": {"estimators": [
                  ["ridge", {"estimator": "Ridge"}], ["boost", {"estimator": "GradientBoostingRegressor", "params": {"n_estimators": 5}}]]}})"),
      fits_job("OneAgainstTheRest", "digits",
               R"({"estimator": "OneVsRestClassifier", "params": {"estimator": {"estimator": "LinearSVC"}}})", "fit"),
      fits_job("PairsOfClasses", "digits",
               R"({"estimator": "OneVsOneClassifier", "params": {"estimator": {"estimator": "GaussianNB"}}})"),
      fits_job(
          "Calibrated", "wine",
          R"({"estimator": "CalibratedClassifierCV", "params": {"estimator": {"estimator": "GaussianNB"}, "method": "isotonic"}})"),
      fits_job(
          "CalibratedOnce", "wine",
          R"({"estimator": "CalibratedClassifierCV", "params": {"estimator": {"estimator": "LinearSVC"}, "ensemble": false}})",
          "fit"),
      fits_job("ColumnsByScores", "wine",
               R"({"estimator": "SequentialFeatureSelector", "params": {"n_features_to_select": 3, "cv": 2,
                  "estimator": {"estimator": "GaussianNB"}}}, {"estimator": "KNeighborsClassifier"})"),
      fits_job("ColumnsByElimination", "wine",
               R"({"estimator": "RFECV", "params": {"step": 3, "cv": 3, "estimator": {"estimator": "RidgeClassifier"}}},
                  {"estimator": "GaussianNB"})",
               "fit"),
      fits_job("Threshold", "breast_cancer",
               R"({"estimator": "TunedThresholdClassifierCV", "params": {"store_cv_results": true, "scoring": "f1",
                  "estimator": [{"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"}]}})"),
      fits_job("ThresholdOfNeighbours", "wine",
               R"({"estimator": "TunedThresholdClassifierCV", "params": {"cv": 4, "thresholds": [0.2, 0.5, 0.7],
                  "estimator": {"estimator": "KNeighborsClassifier"}}})",
               "fit"),
      fits_job("ThresholdOfAForest", "iris",
               R"({"estimator": "TunedThresholdClassifierCV", "params": {"cv": 2,
                  "estimator": {"estimator": "RandomForestClassifier", "params": {"n_estimators": 5}}}})"),
      fits_job("LineOfMostRows", "diabetes", R"({"estimator": "RANSACRegressor", "params": {"random_state": 3}})"),
      fits_job(
          "LineOfManySubsets", "diabetes",
          R"({"estimator": "RANSACRegressor", "params": {"random_state": 5, "stop_probability": 1, "max_trials": 75,
                  "loss": "squared_error", "residual_threshold": 3000}})",
          "fit"),
      fits_job("TreeOfMostRows", "diabetes",
               R"({"estimator": "RANSACRegressor", "params": {"random_state": 1, "min_samples": 0.3, "max_trials": 13,
                  "stop_n_inliers": 400, "estimator": {"estimator": "DecisionTreeRegressor", "params": {"max_depth": 3}}}})"),
      fits_job(
          "LineOfFewSkips", "diabetes",
          R"({"estimator": "RANSACRegressor", "params": {"random_state": 6, "max_skips": 3, "stop_probability": 1}})"),
      fits_job("BoostOfForests", "iris",
               R"({"estimator": "AdaBoostClassifier", "params": {"n_estimators": 3, "random_state": 1, "estimator":
                  {"estimator": "RandomForestClassifier", "params": {"n_estimators": 5, "max_depth": 1}}}})"),
      fits_job("RoundsOfForests", "wine",
               R"({"estimator": "RFE", "params": {"step": 4, "estimator": {"estimator": "ExtraTreesClassifier",
                  "params": {"n_estimators": 6}}}}, {"estimator": "GaussianNB"})"),
      {"ChainByFolds", R"({"dataset": {"builtin": "diabetes"}, "select": {"targets": ["target", "bmi", "s1"]},
        "pipeline": [{"estimator": "RegressorChain", "params": {"cv": 3, "order": [2, 0, 1],
          "estimator": {"estimator": "DecisionTreeRegressor", "params": {"max_depth": 3}}}}], "task": {"fitScore": {}}})"},
      {"ChainOfNeighboursByFolds", R"({"dataset": {"builtin": "diabetes"}, "select": {"targets": ["target", "bmi"]},
        "pipeline": [{"estimator": "RegressorChain", "params": {"cv": 5, "estimator": {"estimator": "KNeighborsRegressor"}}}],
        "task": {"fit": {}}})"},
      {"SeveralTargets", R"({"dataset": {"builtin": "diabetes"}, "select": {"targets": ["target", "bmi", "s1"]},
        "pipeline": [{"estimator": "MultiOutputRegressor", "params": {"estimator": {"estimator": "DecisionTreeRegressor"}}}],
        "task": {"fitScore": {}}})"},
      {"GridWithARefitOfABag",
       R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "BaggingClassifier"}],
        "task": {"gridSearch": {"paramGrid": {"n_estimators": [3, 5]}, "crossValidate": {"cv": 2}}}})"},
  };
}

class InnerFitsOnRanks : public testing::TestWithParam<std::tuple<DealtJob, int>> {};
INSTANTIATE_TEST_SUITE_P(Jobs, InnerFitsOnRanks,
                         testing::Combine(testing::ValuesIn(dealt_fits()), testing::Values(2, 3, 4, 7)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "On" + std::to_string(std::get<1>(info.param));
                         });

TEST_P(InnerFitsOnRanks, GiveTheResultOfOneProcess) {
  const auto& [job, size] = GetParam();
  const JobSpec spec = spec_from(job.spec);
  EXPECT_TRUE(is_dealt_job(spec));
  EXPECT_EQ(run_on_ranks(spec, size)[0], run_alone(spec));
}

// The third and the fourth estimator fail, each on another rank; the first one warns.
TEST(InnerFitsOnRanksErrors, AreThoseOfOneProcess) {
  const JobSpec spec =
      spec_from(R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "VotingClassifier", "params": {
    "estimators": [["lines", {"estimator": "LogisticRegression", "params": {"max_iter": 1}}],
                   ["forest", {"estimator": "RandomForestClassifier"}],
                   ["parts", [{"estimator": "PCA", "params": {"n_components": 9}}, {"estimator": "GaussianNB"}]],
                   ["more", [{"estimator": "PCA", "params": {"n_components": 8}}, {"estimator": "GaussianNB"}]]]}}], "task": {"fit": {}}})");
  std::string alone;
  try {
    run_alone(spec);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("'parts'"));
  for (const int size : {2, 3, 4})
    for (const std::string& message : run_on_ranks(spec, size)) EXPECT_EQ(message, alone);
}

// A subset with a target of 0 or less fails. The search ends with the first one that has none, whatever other ranks
// have tried meanwhile; or it comes to one that fails.
TEST(InnerFitsOnRanksErrors, OfTrialsAreThoseThatOneProcessComesTo) {
  int n_fail = 0, n_end = 0;
  for (int seed = 0; seed < 8; ++seed) {
    const JobSpec spec = spec_from(fmt::format(
        R"({{"dataset": {{"generate": {{"name": "make_regression", "params": {{"n_samples": 300, "random_state": 1}}}}}}, "pipeline": [{{"estimator": "RANSACRegressor",
            "params": {{"random_state": {}, "min_samples": 1, "stop_n_inliers": 1, "residual_threshold": 1.0,
                        "estimator": {{"estimator": "GammaRegressor"}}}}}}], "task": {{"fit": {{}}}}}})",
        seed));
    std::string alone;
    bool fails = false;
    try {
      alone = run_alone(spec);
    } catch (const schema::Error& error) {
      alone = error.message, fails = true;
    }
    ++(fails ? n_fail : n_end);
    for (const int size : {2, 3, 4}) EXPECT_EQ(run_on_ranks(spec, size)[0], alone) << seed << " on " << size;
  }
  EXPECT_TRUE(n_fail > 0 && n_end > 0);
}

TEST(InnerFitsInTurn, AreDealtWhereTheEstimatorInsideIs) {
  const auto is_dealt = [](const char* name, const char* params) {
    return is_dealt_job(spec_from(fmt::format(
        R"({{"dataset": {{"builtin": "iris"}}, "pipeline": [{{"estimator": "{}", "params": {{{}}}}}], "task": {{"fit": {{}}}}}})",
        name, params)));
  };
  EXPECT_FALSE(is_dealt("AdaBoostClassifier", ""));
  EXPECT_TRUE(is_dealt("AdaBoostClassifier", R"("estimator": {"estimator": "RandomForestClassifier"})"));
  EXPECT_TRUE(is_dealt("FixedThresholdClassifier", ""));
  EXPECT_FALSE(is_dealt("FixedThresholdClassifier", R"("estimator": {"estimator": "KNeighborsClassifier"})"));
  EXPECT_TRUE(is_dealt("RFE", ""));
  EXPECT_TRUE(is_dealt("SelectFromModel", R"("estimator": [{"estimator": "StandardScaler"}, {"estimator": "Lasso"}])"));
  EXPECT_FALSE(
      is_dealt("SelectFromModel", R"("estimator": [{"estimator": "StandardScaler"}, {"estimator": "LinearSVC"}])"));
  EXPECT_FALSE(is_dealt("RFE", R"("estimator": {"estimator": "AdaBoostClassifier"})"));
  EXPECT_TRUE(is_dealt("TunedThresholdClassifierCV", R"("estimator": {"estimator": "KNeighborsClassifier"})"));
}

TEST(FitsOnRanks, GoToTheRankWithTheLeastWork) {
  const auto dealt = [](std::vector<PlannedFit> planned, int n_ranks) { return ranks_of_fits(planned, n_ranks); };
  using testing::ElementsAre;
  EXPECT_THAT(dealt({{1}, {1}, {1}, {1}, {1}}, 2), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(dealt({{1}, {5}, {2}, {2}}, 2), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(dealt({{1}}, 3), ElementsAre(0));
  EXPECT_THAT(dealt({{.cost = 9, .divides = true}, {1}, {1}}, 2), ElementsAre(kEveryRank, 0, 1));
  EXPECT_THAT(dealt({{.cost = 1, .divides = true}, {1}, {1}}, 2), ElementsAre(0, 1, 0)) << "no more than a share";
  EXPECT_THAT(dealt({{.cost = 1, .is_large = true}, {1}}, 2), ElementsAre(kEveryRank, 0));
  EXPECT_THAT(dealt({{0}, {0}}, 2), ElementsAre(0, 0));
}

TEST(FitsOnRanks, CostWhatTheirStepsSay) {
  const auto cost = [](const char* step) { return cost_of_fit(schema::value_from_json(step), 1000, 10); };
  const double tree = cost(R"({"estimator": "DecisionTreeClassifier"})");
  EXPECT_GT(tree, 0);
  EXPECT_EQ(
      cost(
          R"({"estimator": "BaggingClassifier", "params": {"n_estimators": 7, "estimator": {"estimator": "DecisionTreeClassifier"}}})"),
      7 * tree);
  EXPECT_EQ(
      cost(
          R"({"estimator": "StackingClassifier", "params": {"cv": 4, "estimators": [["a", {"estimator": "DecisionTreeClassifier"}],
                    {"name": "b", "estimator": {"estimator": "DecisionTreeClassifier"}}]}})"),
      4 * 2 * tree);
  EXPECT_GT(cost(R"({"estimator": "RandomForestClassifier"})"),
            cost(R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 9}})"));
  EXPECT_GT(cost(R"([{"estimator": "StandardScaler"}, {"estimator": "SVC"}])"), cost(R"({"estimator": "SVC"})"));
  EXPECT_EQ(cost(R"({"estimator": "NoSuchThing"})"), 0);
}

}   // namespace
}   // namespace kedge::engine
