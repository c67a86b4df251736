// Jobs on ranks with a GPU each: what is whole by itself and sums over rows are dealt, with the bits of one GPU. The
// GPUs are emulated.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/job/dealt.h"
#include "engine/model/dealt_answer.h"
#include "engine/model/model_task.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/engine/jobs_on_ranks.h"

namespace kedge::engine {
namespace {

using schema::JobSpec;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<Device> open_gpu() {
  return make_cuda_device({});
}

struct GpuJob {
  std::string name, spec;
  bool is_dealt = true;
  friend void PrintTo(const GpuJob& job, std::ostream* out) { *out << job.name; }
};

GpuJob job_on(const char* name, const char* data, const char* steps, const char* task, bool is_dealt = true) {
  return {name,
          fmt::format(R"({{"dataset": {{{}}}, "select": {{"dtype": "float32"}}, "pipeline": [{}], "task": {{{}}}}})",
                      data, steps, task),
          is_dealt};
}

constexpr const char *kIris = R"("builtin": "iris")", *kWine = R"("builtin": "wine")",
                     *kDiabetes = R"("builtin": "diabetes")";
// Rows enough for sums that ranks on processors would divide.
constexpr const char* kRows =
    R"("generate": {"name": "make_classification", "params": {"n_samples": 17000, "n_features": 4, "n_informative": 3,
       "n_redundant": 0, "random_state": 1}})";

constexpr const char* kFourClasses =
    R"("generate": {"name": "make_classification", "params": {"n_samples": 16500, "n_features": 4, "n_informative": 4,
       "n_redundant": 0, "n_classes": 4, "n_clusters_per_class": 1, "random_state": 1}})";

constexpr const char* kValues =
    R"("generate": {"name": "make_regression", "params": {"n_samples": 17000, "n_features": 4, "n_informative": 3,
       "noise": 1.0, "random_state": 1}})";

std::vector<GpuJob> gpu_jobs() {
  const char* const forest =
      R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 5, "oob_score": true}})";
  return {
      job_on("CrossValidation", kWine, R"({"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"})",
             R"("crossValidate": {"cv": 4, "returnTrainScore": true, "confusionMatrix": true})"),
      job_on("CrossValidationOfAForest", kIris, forest, R"("crossValidate": {"cv": 3})"),
      job_on("Grid", kWine, R"({"estimator": "PCA"}, {"estimator": "KNeighborsClassifier"})",
             R"("gridSearch": {"paramGrid": {"pca__n_components": [2, 3], "kneighborsclassifier__n_neighbors": [1, 3]},
                               "crossValidate": {"cv": 2}})"),
      job_on(
          "GridWithARefitOfAForest", kIris, R"({"estimator": "RandomForestClassifier"})",
          R"("gridSearch": {"paramGrid": {"n_estimators": [2, 5], "max_depth": [2, 4]}, "crossValidate": {"cv": 2}})"),
      job_on("LearningCurve", kIris, R"({"estimator": "GaussianNB"})",
             R"("learningCurve": {"trainSizes": [0.5, 1.0]})"),
      job_on("ValidationCurve", kIris, R"({"estimator": "GaussianNB"})",
             R"("validationCurve": {"paramName": "var_smoothing", "paramRange": [1e-9, 1.0]})"),
      job_on("Forest", kIris, forest, R"("fit": {})"),
      job_on(
          "ForestOfValues", kDiabetes,
          R"({"estimator": "StandardScaler"}, {"estimator": "ExtraTreesRegressor", "params": {"n_estimators": 3, "max_depth": 3}})",
          R"("fitScore": {})"),
      job_on("ForestAfterSumsThatRanksOnProcessorsDivide", kRows,
             R"({"estimator": "StandardScaler"}, {"estimator": "PCA", "params": {"n_components": 2}},
                {"estimator": "RandomForestClassifier", "params": {"n_estimators": 3, "max_depth": 3}})",
             R"("fit": {})"),
      job_on(
          "BagWithScores", kIris,
          R"({"estimator": "StandardScaler"}, {"estimator": "BaggingClassifier", "params": {"n_estimators": 4, "oob_score": true}})",
          R"("fit": {})"),
      job_on("Stack", kDiabetes,
             R"({"estimator": "StackingRegressor", "params": {"cv": 2, "estimators": [
                ["ridge", {"estimator": "Ridge"}], ["near", {"estimator": "KNeighborsRegressor"}],
                ["forest", {"estimator": "RandomForestRegressor", "params": {"n_estimators": 3, "max_depth": 3}}]]}})",
             R"("fit": {})"),
      job_on("SearchWithARefitBySums", kRows, R"({"estimator": "RidgeClassifier"})",
             R"("gridSearch": {"paramGrid": {"alpha": [0.1, 10.0]}, "crossValidate": {"cv": 2}})"),
      job_on("Boosting", kRows, R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 2}})",
             R"("crossValidate": {"cv": 2})"),
      job_on("Means", kRows, R"({"estimator": "KMeans", "params": {"n_clusters": 3, "max_iter": 3}})", R"("fit": {})"),
      job_on("ScaledLines", kValues, R"({"estimator": "StandardScaler"}, {"estimator": "Ridge"})", R"("fit": {})"),
      job_on("Scores", kRows,
             R"({"estimator": "StandardScaler"}, {"estimator": "LogisticRegression", "params": {"max_iter": 3}})",
             R"("fitScore": {"testSize": 0.02})"),
      job_on("ManyClasses", kFourClasses, R"({"estimator": "LogisticRegression", "params": {"max_iter": 2}})",
             R"("fit": {})"),
      job_on("LeastSquares", kValues, R"({"estimator": "LinearRegression"})", R"("fit": {})"),
      job_on("SparseLines", kValues, R"({"estimator": "Lasso", "params": {"alpha": 0.01}})", R"("fit": {})"),
      job_on("ClassesByLines", kRows, R"({"estimator": "RidgeClassifier"})", R"("fit": {})"),
      job_on("Components", kRows, R"({"estimator": "PCA", "params": {"n_components": 2}}, {"estimator": "GaussianNB"})",
             R"("fit": {})"),
      job_on("Binary", kRows, R"({"estimator": "BernoulliNB"})", R"("fit": {})"),
      job_on("Counts", kRows, R"({"estimator": "MinMaxScaler"}, {"estimator": "MultinomialNB"})", R"("fit": {})"),
      job_on("FitsInTurn", kValues,
             R"({"estimator": "RFE", "params": {"n_features_to_select": 2, "estimator": {"estimator": "Ridge"}}})",
             R"("fit": {})"),
      job_on("Ranges", kRows, R"({"estimator": "MinMaxScaler"})", R"("fit": {})"),
      job_on("Bins", kRows, R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 1}})",
             R"("fit": {})", false),
  };
}

class GpuRanks : public testing::TestWithParam<GpuJob> {};
INSTANTIATE_TEST_SUITE_P(Jobs, GpuRanks, testing::ValuesIn(gpu_jobs()),
                         [](const auto& info) { return info.param.name; });

// A job that is not dealt is what the group gives the first rank alone; nothing of it may depend on ranks being there.
TEST_P(GpuRanks, GiveTheResultOfOneGpu) {
  const JobSpec spec = spec_from(GetParam().spec);
  EXPECT_EQ(job_is_dealt(spec, *open_gpu()), GetParam().is_dealt);
  const std::string alone = run_alone(spec, nullptr, nullptr, open_gpu);
  for (const int size : {2, 3}) {
    std::string log;
    EXPECT_EQ(run_on_ranks(spec, size, &log, open_gpu)[0], alone) << size << " ranks";
    EXPECT_THAT(log, Not(HasSubstr("the first rank loaded"))) << "own rows are for processors";
  }
}

TEST(GpuRanksAlone, SayThatTheFirstMakesAFit) {
  const JobSpec spec =
      spec_from(job_on("", kIris, R"({"estimator": "KNeighborsClassifier"})",
                       R"("gridSearch": {"paramGrid": {"n_neighbors": [1, 3]}, "crossValidate": {"cv": 2}})")
                    .spec);
  std::string log;
  run_on_ranks(spec, 2, &log, open_gpu);
  EXPECT_THAT(log, HasSubstr("the first of 2 ranks makes this fit alone"));
}

TEST(GpuRanksErrors, AreThoseOfOneGpuOnEveryRank) {
  const JobSpec spec =
      spec_from(R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
    "task": {"gridSearch": {"paramGrid": {"n_neighbors": [1, 2, 500, 4]}, "errorScore": "raise"}}})");
  std::string alone;
  try {
    run_alone(spec, nullptr, nullptr, open_gpu);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("500"));
  EXPECT_THAT(run_on_ranks(spec, 3, nullptr, open_gpu), Each(alone));
}

// Tiles of rows, which are those of one GPU.
TEST(GpuRanksPredictions, AreTheFileOfOneGpu) {
  const TemporaryFolder folder;
  const JobSpec fit = spec_from(job_on("", kIris, R"({"estimator": "RandomForestClassifier"})", R"("fit": {})").spec);
  RunFiles files{.model_file = folder.path() / "model.kedge", .data_digest = "feed"};
  Pipeline::build(fit).run({.device = *open_gpu()}, data_of(fit), {}, &files);
  constexpr std::int64_t kTile = 32;
  const auto answer = [&](Ranks* ranks) -> std::string {
    const RanksScope scope(ranks);
    const std::unique_ptr<Device> device = open_gpu();
    const Context ctx{.device = *device};
    const std::unique_ptr<StoredModel> model = StoredModel::load(ctx, files.model_file);
    const DatasetFile& data = data_of(fit);
    const AskedRows own = own_asked_rows(data.meta().n_rows, kTile);
    const DatasetRows rows(model->info(), data, own.end, own.begin);
    const ModelAnswer said =
        dealt_answer(ctx, *model, data.meta().n_rows, kTile, "predict_proba",
                     [&](std::int64_t first, std::int64_t count) { return rows.rows(first, count); });
    if (ranks) ranks->end(std::nullopt);
    return said.numbers.empty() ? "nothing" : encoded_answer(said, "application/x-npy");
  };
  const std::string alone = answer(nullptr);
  EXPECT_GT(alone.size(), 150 * 3);
  for (const int size : {2, 3, 7}) {
    const std::vector<std::string> said = on_ranks(size, [&](Comm& comm) {
      Ranks ranks(comm);
      return answer(&ranks);
    });
    EXPECT_EQ(std::hash<std::string>()(said[0]), std::hash<std::string>()(alone)) << size << " ranks";
    EXPECT_THAT(std::vector(said.begin() + 1, said.end()), Each("nothing"));
  }
}

TEST(DealtJobsOnGpus, AreSearchesValidationsPredictionsForestsAndSumsOverRows) {
  const std::unique_ptr<Device> gpu = open_gpu();
  const auto is_dealt = [&](const char* estimator, const char* task) {
    const JobSpec spec = spec_from(fmt::format(
        R"({{"dataset": {{"builtin": "iris"}}, "pipeline": [{{"estimator": "{}"}}], "task": {{"{}": {{}}}}}})",
        estimator, task));
    return job_is_dealt(spec, *gpu);
  };
  EXPECT_TRUE(is_dealt("Ridge", "crossValidate"));
  EXPECT_TRUE(is_dealt("RandomForestClassifier", "fit"));
  EXPECT_TRUE(is_dealt("ExtraTreesRegressor", "fitScore"));
  EXPECT_TRUE(
      job_is_dealt(spec_from(R"({"dataset": {"builtin": "iris"}, "task": {"predict": {"model": "m"}}})"), *gpu));
  EXPECT_TRUE(is_dealt("Ridge", "fit"));
  EXPECT_TRUE(is_dealt("KMeans", "fitScore"));
  EXPECT_FALSE(is_dealt("HistGradientBoostingClassifier", "fit")) << "whose columns ranks on processors divide";
  EXPECT_FALSE(is_dealt("DBSCAN", "fit"));
  EXPECT_FALSE(is_dealt("KNeighborsClassifier", "fitScore"));
}

}   // namespace
}   // namespace kedge::engine
