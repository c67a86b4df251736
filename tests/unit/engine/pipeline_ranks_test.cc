// Jobs on several ranks: the results of one process, bit for bit.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/job/dealt.h"
#include "tests/unit/engine/jobs_on_ranks.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::JobSpec;
using testing::HasSubstr;

bool ends_in_labels(std::string_view steps) {
  constexpr const char* kNames[] = {"KMeans", "DBSCAN", "LocalOutlierFactor", "GaussianMixture"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return steps.find(name) != steps.npos; });
}

// A fit on 17,000 rows, or on 18,000 before a score of 6,000, so that ranks divide its sums.
DealtJob sums_job(const char* name, const char* generator, const char* steps, const char* dtype = "float64") {
  return {
      name,
      fmt::format(
          R"({{"dataset": {{"generate": {{"name": "{}", "params": {{"n_samples": {}, "n_features": 9, "random_state": 1{}}}}}}},
      "select": {{"dtype": "{}"}}, "pipeline": [{}], "task": {{"{}": {{}}}}}})",
          generator, ends_in_labels(steps) ? 17000 : 24000,
          generator == std::string("make_classification") ? R"(, "n_informative": 6, "n_classes": 4)" : "", dtype,
          steps, ends_in_labels(steps) ? "fit" : "fitScore")};
}

// A fit on 6,000 rows and the scores of 18,000, whose predictions ranks divide.
DealtJob scores_job(const char* name, const char* generator, const char* steps, const char* task = "") {
  return {
      name,
      fmt::format(
          R"({{"dataset": {{"generate": {{"name": "{}", "params": {{"n_samples": 24000, "n_features": 12, "random_state": 1}}}}}},
      "select": {{"dtype": "float32"}}, "pipeline": [{}], "task": {{"fitScore": {{"testSize": 0.75{}}}}}}})",
          generator, steps, task)};
}

std::vector<DealtJob> dealt_scores() {
  constexpr const char *kClasses = "make_classification", *kNumbers = "make_regression";
  return {
      scores_job("Neighbours", kClasses, R"({"estimator": "KNeighborsClassifier"})",
                 R"(, "scoring": ["accuracy", "roc_auc"], "confusionMatrix": true, "curves": true)"),
      scores_job("NeighboursOfNumbers", kNumbers, R"({"estimator": "KNeighborsRegressor"})"),
      scores_job("Vectors", kClasses, R"({"estimator": "StandardScaler"}, {"estimator": "SVC"})",
                 R"(, "scoring": ["roc_auc", "f1"])"),
      scores_job("Network", kClasses, R"({"estimator": "MLPClassifier", "params": {"max_iter": 2}})"),
      scores_job("Forest", kClasses, R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 6}})",
                 R"(, "scoring": ["neg_log_loss"])"),
      scores_job("Line", kNumbers, R"({"estimator": "PolynomialFeatures"}, {"estimator": "Ridge"})"),
      scores_job("Boosting", kNumbers, R"({"estimator": "HistGradientBoostingRegressor", "params": {"max_iter": 5}})"),
  };
}

std::vector<DealtJob> dealt_sums() {
  constexpr const char *kClasses = "make_classification", *kNumbers = "make_regression", *kBlobs = "make_blobs";
  return {
      sums_job("ScalerAndLogistic", kClasses,
               R"({"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"})"),
      sums_job("LogisticInFloat", kClasses, R"({"estimator": "LogisticRegression", "params": {"tol": 1e-7}})",
               "float32"),
      sums_job("LogisticByNewtonCg", kClasses,
               R"({"estimator": "LogisticRegression", "params": {"solver": "newton-cg", "max_iter": 8}})"),
      sums_job("LogisticByNewtonCholesky", kClasses,
               R"({"estimator": "LogisticRegression", "params": {"solver": "newton-cholesky", "max_iter": 8}})"),
      sums_job("LogisticBySaga", kClasses,
               R"({"estimator": "LogisticRegression", "params": {"solver": "saga", "l1_ratio": 0.5, "max_iter": 3}})"),
      sums_job("LogisticOfWeights", kClasses,
               R"({"estimator": "LogisticRegression", "params": {"class_weight": "balanced", "max_iter": 8}})",
               "float32"),
      sums_job(
          "PcaInFull", kClasses,
          R"({"estimator": "PCA", "params": {"svd_solver": "full", "whiten": true}}, {"estimator": "GaussianNB"})"),
      sums_job("PcaByRandomization", kClasses,
               R"({"estimator": "PCA", "params": {"n_components": 3, "svd_solver": "randomized", "random_state": 5}},
                  {"estimator": "GaussianNB"})"),
      sums_job("PcaByArpack", kClasses,
               R"({"estimator": "PCA", "params": {"n_components": 3, "svd_solver": "arpack", "random_state": 5}},
                  {"estimator": "GaussianNB"})",
               "float32"),
      sums_job("RidgeBySvd", kNumbers, R"({"estimator": "Ridge", "params": {"solver": "svd"}})"),
      sums_job("RidgeByLsqr", kNumbers, R"({"estimator": "Ridge", "params": {"solver": "lsqr"}})", "float32"),
      sums_job("RidgeOfNoNegatives", kNumbers, R"({"estimator": "Ridge", "params": {"positive": true}})"),
      sums_job("LinearRegressionOfNoNegatives", kNumbers,
               R"({"estimator": "LinearRegression", "params": {"positive": true, "fit_intercept": false}})"),
      sums_job("KMeansByElkan", kBlobs,
               R"({"estimator": "StandardScaler"},
                  {"estimator": "KMeans", "params": {"n_clusters": 7, "random_state": 3, "algorithm": "elkan"}})",
               "float32"),
      sums_job("ScalerAndLasso", kNumbers,
               R"({"estimator": "StandardScaler"}, {"estimator": "Lasso", "params": {"alpha": 0.5}})"),
      sums_job("ElasticNet", kNumbers, R"({"estimator": "ElasticNet", "params": {"alpha": 0.01}})", "float32"),
      sums_job("Discriminant", kClasses, R"({"estimator": "LinearDiscriminantAnalysis"})"),
      sums_job("DiscriminantByCovariance", kClasses,
               R"({"estimator": "LinearDiscriminantAnalysis", "params": {"solver": "lsqr"}})", "float32"),
      sums_job("ComponentsWithoutMeans", kClasses,
               R"({"estimator": "TruncatedSVD", "params": {"n_components": 3, "random_state": 7}},
                  {"estimator": "GaussianNB"})"),
      sums_job("BinaryCounts", kClasses, R"({"estimator": "BernoulliNB", "params": {"binarize": 0.3}})", "float32"),
      sums_job("Counts", kClasses,
               R"({"estimator": "MinMaxScaler", "params": {"clip": true}}, {"estimator": "MultinomialNB"})"),
      sums_job("CountsOfComplements", kClasses,
               R"({"estimator": "MinMaxScaler", "params": {"clip": true}}, {"estimator": "ComplementNB"})", "float32"),
      sums_job("CountsOfScaledRows", kClasses, R"({"estimator": "MinMaxScaler"}, {"estimator": "MultinomialNB"})"),
      sums_job("CountsOfCategories", kClasses, R"({"estimator": "Binarizer"}, {"estimator": "CategoricalNB"})"),
      sums_job("PcaAndBayes", kClasses,
               R"({"estimator": "PCA", "params": {"n_components": 4}}, {"estimator": "GaussianNB"})"),
      sums_job("RidgeClassifier", kClasses, R"({"estimator": "RidgeClassifier"})", "float32"),
      sums_job("Ridge", kNumbers,
               R"({"estimator": "StandardScaler"}, {"estimator": "Ridge", "params": {"alpha": 2.5}})"),
      sums_job("LinearRegression", kNumbers, R"({"estimator": "LinearRegression"})"),
      sums_job("KMeans", kBlobs, R"({"estimator": "KMeans", "params": {"n_clusters": 11, "random_state": 3}})"),
      sums_job("KMeansOfFarCentres", kBlobs,   // two clusters are empty and move to the farthest rows
               R"({"estimator": "KMeans", "params": {"n_clusters": 4, "init": [[0, 0, 0, 0, 0, 0, 0, 0, 0],
                  [90, 9, 9, 9, 9, 9, 9, 9, 90], [90, 9, 9, 9, 9, 9, 9, 9, 91], [1, 1, 1, 1, 1, 1, 1, 1, 1]]}})"),
      sums_job("KMeansOfManyClusters", kClasses,
               R"({"estimator": "KMeans", "params": {"n_clusters": 300, "random_state": 3, "max_iter": 4}})",
               "float32"),
      sums_job("BoostingOfClasses", kClasses,
               R"({"estimator": "PolynomialFeatures"},
                  {"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 3, "random_state": 1}})",
               "float32"),
      sums_job("BoostingWithShareOfColumns", kNumbers,
               R"({"estimator": "PolynomialFeatures"},
                  {"estimator": "HistGradientBoostingRegressor",
                   "params": {"max_iter": 4, "max_features": 0.4, "loss": "absolute_error", "random_state": 1}})"),
      sums_job("Density", kBlobs, R"({"estimator": "DBSCAN", "params": {"eps": 2.2, "min_samples": 8}})"),
      sums_job("DensityOfManyColumns", kBlobs,
               R"({"estimator": "MinMaxScaler"}, {"estimator": "PolynomialFeatures"},
                  {"estimator": "DBSCAN", "params": {"eps": 0.9, "min_samples": 8}})",
               "float32"),
      sums_job("DensityOfAllScales", kBlobs, R"({"estimator": "HDBSCAN", "params": {"min_samples": 6}})", "float32"),
      sums_job("OutliersOfNeighbours", kBlobs,
               R"({"estimator": "RobustScaler"}, {"estimator": "LocalOutlierFactor", "params": {"n_neighbors": 7}})"),
      sums_job("ScalersByRange", kNumbers,
               R"({"estimator": "MinMaxScaler"}, {"estimator": "MaxAbsScaler"}, {"estimator": "Ridge"})"),
      sums_job("ScalersByQuantiles", kNumbers,
               R"({"estimator": "RobustScaler", "params": {"quantile_range": [10.0, 80.0]}},
                  {"estimator": "QuantileTransformer", "params": {"n_quantiles": 200}}, {"estimator": "Ridge"})",
               "float32"),
      sums_job("ImputedMeans", kNumbers, R"({"estimator": "SimpleImputer"}, {"estimator": "Ridge"})"),
      sums_job("ImputedMedians", kNumbers,
               R"({"estimator": "SimpleImputer", "params": {"strategy": "median"}}, {"estimator": "Ridge"})",
               "float32"),
      sums_job("EncodedCategories", kNumbers,
               R"({"estimator": "Binarizer"}, {"estimator": "SimpleImputer", "params": {"strategy": "most_frequent"}},
                  {"estimator": "OrdinalEncoder"}, {"estimator": "OneHotEncoder"}, {"estimator": "Ridge"})"),
      sums_job("Mixture", kBlobs,
               R"({"estimator": "StandardScaler"},
                  {"estimator": "GaussianMixture", "params": {"n_components": 5, "max_iter": 8, "random_state": 3}})"),
      sums_job("MixtureOfOneCovariance", kBlobs,
               R"({"estimator": "GaussianMixture", "params": {"n_components": 4, "covariance_type": "tied",
                  "init_params": "k-means++", "max_iter": 6, "n_init": 2, "random_state": 3}})",
               "float32"),
      sums_job("MixtureOfDiagonals", kClasses,
               R"({"estimator": "GaussianMixture", "params": {"n_components": 3, "covariance_type": "diag",
                  "init_params": "random", "max_iter": 5, "random_state": 3}})",
               "float32"),
      sums_job("MixtureOfManyColumns", kBlobs,   // by products of blocks
               R"({"estimator": "PolynomialFeatures", "params": {"degree": 3, "include_bias": false}},
                  {"estimator": "PCA", "params": {"n_components": 70, "svd_solver": "full", "whiten": true}},
                  {"estimator": "GaussianMixture", "params": {"n_components": 2, "max_iter": 2, "random_state": 3}})"),
      sums_job(
          "MixtureWithPriors", kBlobs,
          R"({"estimator": "BayesianGaussianMixture", "params": {"n_components": 6, "max_iter": 8, "random_state": 3}})"),
      sums_job("MixtureOfSpheresWithPriors", kBlobs,
               R"({"estimator": "BayesianGaussianMixture", "params": {"n_components": 6, "covariance_type": "spherical",
                  "weight_concentration_prior_type": "dirichlet_distribution", "init_params": "random_from_data",
                  "max_iter": 8, "random_state": 3}})",
               "float32"),
      sums_job(
          "RoundsOfLines", kNumbers,
          R"({"estimator": "RFE", "params": {"estimator": {"estimator": "Ridge"}, "n_features_to_select": 4, "step": 2}},
                  {"estimator": "Ridge"})"),
      sums_job(
          "ColumnsOfAModel", kNumbers,
          R"({"estimator": "SelectFromModel", "params": {"estimator": {"estimator": "Lasso"}, "threshold": "0.1*mean"}},
                  {"estimator": "TransformedTargetRegressor", "params": {"regressor": {"estimator": "ElasticNet"}}})",
          "float32"),
      sums_job("BoostOfLines", kClasses,
               R"({"estimator": "AdaBoostClassifier", "params": {"n_estimators": 3, "random_state": 2,
                  "estimator": {"estimator": "LogisticRegression", "params": {"max_iter": 5}}}})"),
      sums_job(
          "LinesOfMostRows", kNumbers,
          R"({"estimator": "RANSACRegressor", "params": {"random_state": 4, "stop_probability": 1, "max_trials": 40}})"),
      sums_job("StackOfLines", kNumbers,   // whose last one all ranks make
               R"({"estimator": "StackingRegressor", "params": {"cv": 2, "passthrough": true, "estimators": [
                  ["a", {"estimator": "Ridge"}], ["b", {"estimator": "DecisionTreeRegressor", "params": {"max_depth": 4}}]]}})"),
      sums_job("KMeansFromRandomRows", kNumbers,
               R"({"estimator": "KMeans", "params": {"n_clusters": 5, "init": "random", "n_init": 2}})"),
  };
}

std::vector<DealtJob> dealt_jobs() {
  return {
      {"CrossValidation",
       R"({"dataset": {"builtin": "wine"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"}],
        "task": {"crossValidate": {"cv": 5, "returnTrainScore": true, "confusionMatrix": true, "scoring": ["accuracy", "f1_macro"]}}})"},
      {"CrossValidationOfAForest", R"({"dataset": {"builtin": "digits"},
        "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 7}}], "task": {"crossValidate": {"cv": 3}}})"},
      {"Grid",
       R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "PCA"}, {"estimator": "KNeighborsClassifier"}],
        "task": {"gridSearch": {"paramGrid": {"pca__n_components": [5, 10, 20], "kneighborsclassifier__n_neighbors": [1, 3]},
                                "crossValidate": {"cv": 4}}}})"},
      {"GridOfSteps",
       R"({"dataset": {"builtin": "wine"}, "pipeline": [{"estimator": "StandardScaler"}, {"name": "model", "estimator": "GaussianNB"}],
        "task": {"gridSearch": {"paramGrid": [
          {"model": [{"estimator": "LogisticRegression"}], "model__C": [0.1, 1.0]},
          {"model": [{"estimator": "RandomForestClassifier"}], "model__n_estimators": [5, 40], "model__max_depth": [2, 6]}]}}})"},
      {"GridWithFailures", R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
        "task": {"gridSearch": {"paramGrid": {"n_neighbors": [3, 119, 500, 121]}}}})"},
      {"Halving", R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "RandomForestClassifier"}],
        "task": {"halvingGridSearch": {"paramGrid": {"max_depth": [1, 2, 3, 4], "min_samples_leaf": [1, 5]}, "resource": "n_estimators",
                                       "maxResources": 20, "minResources": 2}}})"},
      {"Forest", R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier",
        "params": {"n_estimators": 13, "oob_score": true}}], "task": {"fit": {}}})"},
      {"ForestWithFewerTreesThanRanks",
       R"({"dataset": {"builtin": "diabetes"}, "pipeline": [{"estimator": "StandardScaler"},
        {"estimator": "ExtraTreesRegressor", "params": {"n_estimators": 2}}], "task": {"fitScore": {}}})"},
  };
}

class PipelineOnRanks : public testing::TestWithParam<std::tuple<DealtJob, int>> {};
INSTANTIATE_TEST_SUITE_P(Jobs, PipelineOnRanks,
                         testing::Combine(testing::ValuesIn(dealt_jobs()), testing::Values(2, 3, 4, 7)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "On" + std::to_string(std::get<1>(info.param));
                         });

TEST_P(PipelineOnRanks, GivesTheResultOfOneProcess) {
  const auto& [job, size] = GetParam();
  const JobSpec spec = spec_from(job.spec);
  EXPECT_TRUE(is_dealt_job(spec));
  EXPECT_EQ(run_on_ranks(spec, size)[0], run_alone(spec));
}

class SumsOnRanks : public testing::TestWithParam<DealtJob> {};
constexpr auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Jobs, SumsOnRanks, testing::ValuesIn(dealt_sums()), kName);
INSTANTIATE_TEST_SUITE_P(Scores, SumsOnRanks, testing::ValuesIn(dealt_scores()), kName);

TEST_P(SumsOnRanks, GiveTheResultOfOneProcess) {
  const JobSpec spec = spec_from(GetParam().spec);
  EXPECT_TRUE(is_dealt_job(spec));
  const std::string alone = run_alone(spec);
  for (const int size : {2, 3, 4, 7}) EXPECT_EQ(run_on_ranks(spec, size)[0], alone) << size << " ranks";
}

constexpr const char* kPositive = R"(, "shift": 80)";   // cells of at least 0

// Fits on all rows of 32 MB, of which a rank loads its own. `share`: of what it should hold the most that it may, since
// k-means++ looks at rows of others.
struct OwnRowsJob {
  const char *name, *generator, *steps;
  double share = 1.1;
  const char* params = "";   // of the generator
  friend void PrintTo(const OwnRowsJob& job, std::ostream* out) { *out << job.name; }
};
class OwnRowsOnRanks : public testing::TestWithParam<OwnRowsJob> {};
INSTANTIATE_TEST_SUITE_P(
    Jobs, OwnRowsOnRanks,
    testing::Values(
        OwnRowsJob{"Scaler", "make_classification", R"({"estimator": "StandardScaler"})"},
        OwnRowsJob{"Ranges", "make_classification", R"({"estimator": "MinMaxScaler"})"},
        OwnRowsJob{"Magnitudes", "make_classification", R"({"estimator": "MaxAbsScaler"})"},
        OwnRowsJob{"Bayes", "make_classification", R"({"estimator": "GaussianNB"})"},
        OwnRowsJob{"Counts", "make_classification", R"({"estimator": "BernoulliNB"})"},
        OwnRowsJob{"CountsOfWords", "make_classification", R"({"estimator": "MultinomialNB"})", 1.1, kPositive},
        OwnRowsJob{"CountsOfComplements", "make_classification", R"({"estimator": "ComplementNB"})", 1.1, kPositive},
        OwnRowsJob{"CountsOfCategories", "make_classification", R"({"estimator": "CategoricalNB"})", 1.1, kPositive},
        OwnRowsJob{"Line", "make_regression", R"({"estimator": "LinearRegression"})"},
        OwnRowsJob{"Lasso", "make_regression", R"({"estimator": "Lasso"})"},
        OwnRowsJob{"ElasticNet", "make_regression", R"({"estimator": "ElasticNet", "params": {"alpha": 0.1}})"},
        OwnRowsJob{"Components", "make_classification", R"({"estimator": "PCA", "params": {"n_components": 5}})"},
        OwnRowsJob{"ComponentsWithoutMeans", "make_classification",
                   R"({"estimator": "TruncatedSVD", "params": {"n_components": 5, "random_state": 1}})"},
        OwnRowsJob{"Ridge", "make_regression", R"({"estimator": "Ridge"})"},
        OwnRowsJob{"RidgeBySvd", "make_regression", R"({"estimator": "Ridge", "params": {"solver": "svd"}})"},
        OwnRowsJob{"LineOfNoNegatives", "make_regression",
                   R"({"estimator": "LinearRegression", "params": {"positive": true}})"},
        OwnRowsJob{"RidgeOfClasses", "make_classification", R"({"estimator": "RidgeClassifier"})"},
        OwnRowsJob{"Logistic", "make_classification",
                   R"({"estimator": "LogisticRegression", "params": {"max_iter": 5}})"},
        OwnRowsJob{
            "ScalerAndLogistic", "make_classification",
            R"({"estimator": "StandardScaler"}, {"estimator": "LogisticRegression", "params": {"max_iter": 5}})"},
        OwnRowsJob{"ScalersAndBayes", "make_classification",
                   R"({"estimator": "MinMaxScaler"}, {"estimator": "MaxAbsScaler"}, {"estimator": "GaussianNB"})"},
        OwnRowsJob{"RangesAndCounts", "make_classification",
                   R"({"estimator": "MinMaxScaler"}, {"estimator": "MultinomialNB"})"},
        OwnRowsJob{"ScalerAndRidge", "make_regression",
                   R"({"estimator": "StandardScaler"}, {"estimator": "Ridge", "params": {"alpha": 2.5}})"},
        OwnRowsJob{"ScalerAndLasso", "make_regression", R"({"estimator": "StandardScaler"}, {"estimator": "Lasso"})"},
        OwnRowsJob{"ScalerAndMeans", "make_blobs", R"({"estimator": "StandardScaler"},
                   {"estimator": "KMeans", "params": {"n_clusters": 4, "max_iter": 5, "random_state": 1}})",
                   1.8},
        OwnRowsJob{"ScalerByQuantiles", "make_regression", R"({"estimator": "RobustScaler"}, {"estimator": "Ridge"})"},
        OwnRowsJob{"ScalersAndScalerByQuantiles", "make_regression",
                   R"({"estimator": "StandardScaler"}, {"estimator": "RobustScaler"}, {"estimator": "Lasso"})"},
        OwnRowsJob{"ImputedMeans", "make_regression",
                   R"({"estimator": "SimpleImputer"}, {"estimator": "StandardScaler"}, {"estimator": "Ridge"})"},
        OwnRowsJob{"ImputedMedians", "make_classification",
                   R"({"estimator": "RobustScaler"}, {"estimator": "SimpleImputer", "params": {"strategy": "median"}},
                      {"estimator": "LogisticRegression", "params": {"max_iter": 5}})"},
        OwnRowsJob{"ImputedConstants", "make_classification",
                   R"({"estimator": "SimpleImputer", "params": {"strategy": "most_frequent", "missing_values": 0.0}},
                      {"estimator": "PCA", "params": {"n_components": 4}}, {"estimator": "GaussianNB"})"},
        OwnRowsJob{"ComponentsAndLogistic", "make_classification", R"({"estimator": "StandardScaler"},
                   {"estimator": "PCA", "params": {"n_components": 5}},
                   {"estimator": "LogisticRegression", "params": {"max_iter": 5}})"},
        OwnRowsJob{"ComponentsAndRidge", "make_regression", R"({"estimator": "StandardScaler"},
                   {"estimator": "TruncatedSVD", "params": {"n_components": 5, "random_state": 1}},
                   {"estimator": "Ridge"})"},
        OwnRowsJob{"ComponentsAndForest", "make_classification", R"({"estimator": "PCA", "params": {"n_components": 3}},
                   {"estimator": "RandomForestClassifier", "params": {"n_estimators": 3, "max_depth": 4}})"},
        OwnRowsJob{"ComponentsAndTree", "make_classification", R"({"estimator": "PCA", "params": {"n_components": 3}},
                   {"estimator": "DecisionTreeClassifier", "params": {"max_depth": 4}})"},
        OwnRowsJob{"Mixture", "make_blobs",
                   R"({"estimator": "StandardScaler"}, {"estimator": "GaussianMixture",
                   "params": {"n_components": 4, "max_iter": 3, "random_state": 1}})",
                   1.8},
        OwnRowsJob{"MixtureOfOneCovariance", "make_blobs",
                   R"({"estimator": "GaussianMixture", "params": {"n_components": 4, "covariance_type": "tied",
                   "init_params": "random_from_data", "max_iter": 3, "random_state": 1}})",
                   1.3},
        OwnRowsJob{"MixtureWithPriors", "make_blobs",
                   R"({"estimator": "BayesianGaussianMixture", "params": {"n_components": 4, "covariance_type": "diag",
                   "init_params": "random", "max_iter": 3, "random_state": 1}})"},
        OwnRowsJob{"Means", "make_blobs",
                   R"({"estimator": "KMeans", "params": {"n_clusters": 4, "max_iter": 5, "random_state": 1}})", 1.8}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(OwnRowsOnRanks, LoadTheirShareAndGiveTheResultOfOneProcess) {
  const JobSpec spec = spec_from(fmt::format(
      R"({{"dataset": {{"generate": {{"name": "{}", "params": {{"n_samples": 100000, "n_features": 40, "random_state": 1{}}}}}}},
          "select": {{"dtype": "float64"}}, "pipeline": [{}], "task": {{"fit": {{}}}}}})",
      GetParam().generator, GetParam().params, GetParam().steps));
  ASSERT_TRUE(reads_own_rows(spec));
  const std::string alone = run_alone(spec);
  for (const int size : {2, 3, 4}) {
    std::string log;
    EXPECT_EQ(run_on_ranks(spec, size, &log)[0], alone) << size << " ranks";
    double held = 0, all = 0;
    const std::size_t at = log.find("the first rank loaded ");
    ASSERT_NE(at, log.npos) << log;
    ASSERT_EQ(std::sscanf(log.c_str() + at, "the first rank loaded %lf of %lf MiB of the table", &held, &all), 2);
    EXPECT_NEAR(all, 30.5, 0.1);
    EXPECT_LE(held, all / size * GetParam().share + 0.5) << size << " ranks";
  }
}

// Points of 4 MB. By cells and halos in few columns, by a ring in many; labels, core samples, their rows and the model.
TEST(OwnRows, AreThePointsOfDbscan) {
  struct Points {
    int n_features;
    const char* steps;
  };
  const Points fits[] = {
      {8, R"({"estimator": "DBSCAN", "params": {"eps": 1.1, "min_samples": 8}})"},
      {8, R"({"estimator": "StandardScaler"}, {"estimator": "DBSCAN", "params": {"eps": 0.2, "min_samples": 6}})"},
      {8, R"({"estimator": "DBSCAN", "params": {"eps": 0.002, "metric": "cosine", "algorithm": "brute"}})"},
      {20, R"({"estimator": "SimpleImputer"}, {"estimator": "MinMaxScaler"},
              {"estimator": "DBSCAN", "params": {"eps": 0.33, "min_samples": 4}})"},
      {20, R"({"estimator": "DBSCAN", "params": {"eps": 0.01, "metric": "cosine", "min_samples": 8}})"},
  };
  for (const auto& [n_features, steps] : fits) {
    const int n_samples = n_features == 8 ? 60'000 : 24'000;
    const JobSpec spec = spec_from(fmt::format(
        R"({{"dataset": {{"generate": {{"name": "make_blobs", "params": {{"n_samples": {}, "n_features": {}, "centers": 30, "random_state": 1}}}}}},
          "select": {{"dtype": "float64"}}, "pipeline": [{}], "task": {{"fit": {{}}}}}})",
        n_samples, n_features, steps));
    ASSERT_TRUE(reads_own_rows(spec));
    const std::string alone = run_alone(spec);
    for (const int size : {2, 3, 4}) {
      std::string log;
      EXPECT_EQ(run_on_ranks(spec, size, &log)[0], alone) << steps << size;
      double held = 0, all = 0;
      const std::size_t at = log.find("the first rank loaded ");
      ASSERT_NE(at, log.npos) << log;
      ASSERT_EQ(std::sscanf(log.c_str() + at, "the first rank loaded %lf of %lf MiB of the table", &held, &all), 2);
      EXPECT_LE(held, all / size * 1.1 + 0.3) << steps << size;
    }
  }
}

// One cell in 19 is missing, and all of the fourth column.
std::filesystem::path write_with_missing(const std::filesystem::path& folder) {
  constexpr std::int64_t kRows = 60'000, kCols = 24;
  std::vector<ColumnInfo> columns;
  for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
  std::vector<double> values;
  for (std::int64_t e = 0; e < kRows * kCols; ++e) {
    const double value = static_cast<double>(e * 2654435761 % 10007) / 100;
    const bool is_missing = e % kCols == 3 || (e % 19 == 0 && e % kCols != kCols - 1);   // the last one is the target
    values.push_back(is_missing ? std::numeric_limits<double>::quiet_NaN() : value);
  }
  return write_dataset(folder, std::move(columns), values);
}

TEST(OwnRows, AreFilledWhereTheyLackValues) {
  const TemporaryFolder folder;
  const auto ref = [](const char* steps) {
    return spec_from(fmt::format(
        R"({{"dataset": {{"generate": {{"name": "make_regression", "params": {{"random_state": 77}}}}}}, "select": {{"target": "x23"}},
      "pipeline": [{}, {{"estimator": "StandardScaler"}}, {{"estimator": "Ridge"}}], "task": {{"fit": {{}}}}}})",
        steps));
  };
  const char* const pipelines[] = {
      R"({"estimator": "SimpleImputer", "params": {"add_indicator": true}})",
      R"({"estimator": "SimpleImputer", "params": {"strategy": "median", "keep_empty_features": true}})",
      R"({"estimator": "SimpleImputer", "params": {"strategy": "most_frequent"}})",
      R"({"estimator": "StandardScaler"}, {"estimator": "RobustScaler"}, {"estimator": "SimpleImputer", "params": {"strategy": "constant"}})",
  };
  made_data().emplace_back(std::get<schema::GenerateRef>(ref(pipelines[0]).dataset.source),
                           DatasetFile(write_with_missing(folder.path())));
  for (const char* const steps : pipelines) {
    ASSERT_TRUE(reads_own_rows(ref(steps))) << steps;
    const std::string alone = run_alone(ref(steps));
    for (const int size : {2, 3, 7}) {
      std::string log;
      EXPECT_EQ(run_on_ranks(ref(steps), size, &log)[0], alone) << steps << size;
      double held = 0, all = 0;
      const std::size_t at = log.find("the first rank loaded ");
      ASSERT_NE(at, log.npos) << log;
      ASSERT_EQ(std::sscanf(log.c_str() + at, "the first rank loaded %lf of %lf MiB of the table", &held, &all), 2);
      EXPECT_LE(held, all / size * 1.1 + 0.5) << steps << size;
    }
  }
}

TEST(OwnRows, AreReadByStepsThatNeedNoOthers) {
  const auto reads = [](const char* steps, const char* task = "fit") {
    return reads_own_rows(spec_from(
        fmt::format(R"({{"dataset": {{"builtin": "iris"}}, "pipeline": [{}], "task": {{"{}": {{}}}}}})", steps, task)));
  };
  const std::string scaler = R"({"estimator": "StandardScaler"}, )", parts = R"({"estimator": "PCA"}, )";
  EXPECT_TRUE(reads(R"({"estimator": "Ridge"})"));
  EXPECT_FALSE(reads(R"({"estimator": "Ridge"})", "fitScore"));
  EXPECT_TRUE(reads((scaler + R"({"estimator": "Ridge"})").c_str()));
  EXPECT_TRUE(reads((scaler + parts + R"({"estimator": "KNeighborsClassifier"})").c_str()));
  EXPECT_FALSE(reads((scaler + R"({"estimator": "KNeighborsClassifier"})").c_str()));
  EXPECT_FALSE(reads((scaler + R"({"estimator": "PolynomialFeatures"}, {"estimator": "Ridge"})").c_str()));
  EXPECT_FALSE(reads(R"({"estimator": "KMeans"}, {"estimator": "Ridge"})"));   // distances of all rows
  EXPECT_TRUE(reads(R"({"estimator": "MinMaxScaler", "params": {"clip": false}}, {"estimator": "Ridge"})"));
  EXPECT_FALSE(reads(R"({"estimator": "MinMaxScaler", "params": {"clip": true}}, {"estimator": "Ridge"})"));
  EXPECT_FALSE(reads(R"({"estimator": "LinearDiscriminantAnalysis"})"));
  EXPECT_TRUE(reads((scaler + R"({"estimator": "DBSCAN"})").c_str()));
  EXPECT_FALSE(reads(R"({"estimator": "HDBSCAN"})"));
  EXPECT_TRUE(reads(R"({"estimator": "SimpleImputer"}, {"estimator": "RobustScaler"}, {"estimator": "Ridge"})"));
  EXPECT_FALSE(reads(R"({"estimator": "SimpleImputer"}, {"estimator": "DecisionTreeClassifier"})"));
}

TEST(PipelineOnRanksErrors, AreThoseOfOneProcessOnEveryRank) {
  // The third candidate fails on every fold, which some ranks see and others do not.
  const JobSpec spec =
      spec_from(R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
    "task": {"gridSearch": {"paramGrid": {"n_neighbors": [1, 2, 500, 4]}, "errorScore": "raise"}}})");
  std::string alone;
  try {
    run_alone(spec);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("500"));
  for (const std::string& message : run_on_ranks(spec, 3)) EXPECT_EQ(message, alone);
}

// A row of the test part that one rank cannot predict.
TEST(PipelineOnRanksErrors, OfPredictionsAreThoseOfOneProcess) {
  const JobSpec spec = spec_from(scores_job("", "make_classification", R"({"estimator": "StandardScaler"},
    {"estimator": "RadiusNeighborsClassifier", "params": {"radius": 0.001}})")
                                     .spec);
  std::string alone;
  try {
    run_alone(spec);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("RadiusNeighborsClassifier"));
  for (const std::string& message : run_on_ranks(spec, 3)) EXPECT_EQ(message, alone);
}

TEST(DealtJobs, AreSearchesValidationsPredictionsForestsAndSums) {
  const auto with = [](const char* estimator, const char* task) {
    return spec_from(fmt::format(
        R"({{"dataset": {{"builtin": "iris"}}, "pipeline": [{{"estimator": "{}"}}], "task": {{"{}": {{}}}}}})",
        estimator, task));
  };
  EXPECT_TRUE(is_dealt_job(with("Ridge", "crossValidate")));
  EXPECT_TRUE(is_dealt_job(with("RandomForestClassifier", "fit")));
  EXPECT_TRUE(is_dealt_job(with("ExtraTreesRegressor", "fitScore")));
  EXPECT_TRUE(is_dealt_job(with("Ridge", "fit")));
  EXPECT_TRUE(is_dealt_job(with("BaggingClassifier", "fit")));
  EXPECT_TRUE(is_dealt_job(with("KNeighborsClassifier", "fitScore")));
  EXPECT_FALSE(is_dealt_job(with("KNeighborsClassifier", "fit")));
  EXPECT_FALSE(is_dealt_job(with("DecisionTreeClassifier", "fit")));
  EXPECT_TRUE(is_dealt_job(with("GaussianMixture", "fit")));
}

}   // namespace
}   // namespace kedge::engine
