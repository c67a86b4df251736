// The list of jobs. An estimator of the catalogue that is not named here is fitted as it is, on data of its kind.
#include "gpu_check/jobs.h"

#include <algorithm>

#include "engine/estimators/catalogue.h"

namespace kedge::gpu_check {
namespace {

using schema::Step;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

// What an estimator needs beyond its defaults.
struct Need {
  const char* estimator;
  DataKind data;
  ValueMap params;
  double bound64 = 1e-9, bound32 = 1e-4;
  std::vector<std::string> free_signs = {};
};

Value scaler() {
  return ValueMap{{"estimator", "StandardScaler"}};
}

// An iteration that stops at a tolerance keeps what rounding did before: two devices agree to a part of that tolerance
// alone.
constexpr double kStopped64 = 1e-5, kStopped32 = 1e-2;
constexpr double kGap64 = 1e-3;   // of multipliers, whose gradients are equal to the tolerance
// The place of a minimum is known to the root of what the function is known to.
constexpr double kFlat64 = 1e-6, kFlat32 = 1e-3;
// In float32 what a matrix that is close to singular, or close eigenvalues, make of its rounding.
constexpr double kIllPosed32 = 2e-3;

// Two estimators of one kind, for those that are made of others.
ValueMap two_of(const std::string& kind) {
  const auto made = [&](const char* name) { return Value(ValueMap{{"estimator", name + kind}}); };
  return {{"estimators", ValueList{ValueList{"near", made("KNeighbors")}, ValueList{"tree", made("DecisionTree")}}}};
}

// For those that are made of a classifier: one whose bits no device changes.
ValueMap of_trees() {
  return {{"estimator", ValueMap{{"estimator", "DecisionTreeClassifier"}, {"params", ValueMap{{"max_depth", 6}}}}}};
}

std::vector<Need> needs() {
  using enum DataKind;
  return {
      {"MultinomialNB", kCounts, {}},
      {"ComplementNB", kCounts, {}},
      {"BernoulliNB", kClasses, {{"binarize", 1.0}}},
      {"CategoricalNB", kCounts, {{"min_categories", 16}}},
      {"OneHotEncoder", kCounts, {}},
      {"OrdinalEncoder", kCounts, {}},
      {"SimpleImputer", kGaps, {{"strategy", "median"}, {"add_indicator", true}}},
      {"MissingIndicator", kGaps, {{"features", "all"}}},
      // As in scikit-learn, the signs of these are those of a decomposition, which are free.
      {"LinearDiscriminantAnalysis", kClasses, {}, 1e-9, 1e-4, {"scalings_", "transform"}},
      {"QuadraticDiscriminantAnalysis", kClasses, {{"reg_param", 0.1}}, 1e-9, 1e-4, {"rotations_"}},
      {"RadiusNeighborsClassifier", kClasses, {{"radius", 2.0}, {"outlier_label", "most_frequent"}}},
      {"RadiusNeighborsRegressor", kValues, {{"radius", 2.0}}},
      {"KMeans", kClasses, {{"n_clusters", 3}, {"n_init", 2}}},
      {"MiniBatchKMeans", kClasses, {{"n_clusters", 3}}},
      {"DBSCAN", kClasses, {{"eps", 1.0}}},
      {"LassoCV", kValues, {{"alphas", 6}, {"cv", 3}}, kStopped64, kStopped32},
      {"ElasticNetCV", kValues, {{"alphas", 6}, {"cv", 3}}, kStopped64, kStopped32},
      {"Lasso", kValues, {{"alpha", 0.05}}, kStopped64, kStopped32},
      {"ElasticNet", kValues, {{"alpha", 0.05}}, kStopped64, kStopped32},
      {"LogisticRegression", kClasses, {}, kStopped64, kStopped32},
      {"LogisticRegressionCV", kClasses, {{"Cs", ValueList{1.0}}, {"cv", 3}}, kStopped64, kStopped32},
      {"FastICA", kClasses, {{"n_components", 3}}, kStopped64, kStopped32},
      {"RandomForestClassifier", kClasses, {{"n_estimators", 8}}},
      {"RandomForestRegressor", kValues, {{"n_estimators", 8}}},
      {"ExtraTreesClassifier", kClasses, {{"n_estimators", 8}}},
      {"ExtraTreesRegressor", kValues, {{"n_estimators", 8}}},
      {"HistGradientBoostingClassifier", kClasses, {{"max_iter", 8}}},
      {"HistGradientBoostingRegressor", kValues, {{"max_iter", 8}}},
      {"PCA", kClasses, {{"n_components", 3}}, 1e-9, kIllPosed32},
      {"FactorAnalysis", kClasses, {{"n_components", 3}}, kStopped64, kStopped32, {"components_", "transform"}},
      {"NMF", kCounts, {{"n_components", 3}, {"random_state", 0}}, kStopped64, kStopped32},
      {"IncrementalPCA", kClasses, {{"n_components", 3}}},
      {"TruncatedSVD", kClasses, {{"n_components", 3}}},
      {"Nystroem", kClasses, {{"n_components", 16}}},
      {"GaussianRandomProjection", kClasses, {{"n_components", 3}, {"random_state", 0}}},
      {"SparseRandomProjection", kClasses, {{"n_components", 3}, {"random_state", 0}}},
      {"PolynomialCountSketch", kClasses, {{"n_components", 20}, {"random_state", 0}}},
      {"GaussianMixture", kClasses, {{"n_components", 3}, {"random_state", 0}}, kStopped64, kStopped32},
      {"BayesianGaussianMixture", kClasses, {{"n_components", 3}, {"random_state", 0}}, kStopped64, kStopped32},
      {"SVC", kClasses, {{"tol", 1e-6}}, kGap64, kStopped32},
      {"NuSVC", kClasses, {}, kGap64, kStopped32},
      {"SVR", kValues, {{"tol", 1e-6}}, kGap64, kStopped32},
      {"NuSVR", kValues, {{"tol", 1e-6}}, kGap64, kStopped32},
      {"OneClassSVM", kClasses, {}, kGap64, kStopped32},
      {"VotingClassifier", kClasses, two_of("Classifier")},
      {"VotingRegressor", kValues, two_of("Regressor")},
      {"StackingClassifier", kClasses, two_of("Classifier"), kStopped64, kStopped32},
      {"StackingRegressor", kValues, two_of("Regressor")},
      {"CalibratedClassifierCV", kClasses, {}, kStopped64, kStopped32},
      {"MultiOutputClassifier", kCounts, of_trees()},
      {"ClassifierChain", kCounts, of_trees()},
      {"KernelPCA", kClasses, {{"n_components", 3}}, 1e-9, kIllPosed32, {"eigenvectors_", "transform"}},
      {"SelectKBest", kClasses, {{"k", 3}}},
      {"GenericUnivariateSelect", kClasses, {{"mode", "k_best"}, {"param", 3}}},
      {"PowerTransformer", kClasses, {}, kFlat64, kFlat32},
      {"KernelRidge", kValues, {}, 1e-9, kIllPosed32},
      {"PoissonRegressor", kPositive, {}, kStopped64, kStopped32},
      {"GammaRegressor", kPositive, {}, kStopped64, kStopped32},
      {"MLPClassifier", kClasses, {{"max_iter", 20}}, kStopped64, kStopped32},   // rounding grows with each pass
      {"MLPRegressor", kValues, {{"max_iter", 20}}, kStopped64, kStopped32},
      {"KBinsDiscretizer", kClasses, {{"encode", "ordinal"}}},
      {"QuantileTransformer", kClasses, {{"n_quantiles", 20}}},
      {"SplineTransformer", kClasses, {{"n_knots", 4}}},
      {"Binarizer", kClasses, {{"threshold", 1.0}}},
      {"FunctionTransformer", kClasses, {{"func", "tanh(x) / (1 + x ** 2)"}}},
      {"IterativeImputer", kGaps, {{"add_indicator", true}}, kStopped64, kStopped32},
      {"TargetEncoder", kCounts, {{"target_type", "multiclass"}, {"random_state", 0}}},
      {"ColumnTransformer",
       kClasses,
       {{"transformers", ValueList{Value(ValueList{"scaled", scaler(), ValueList{0, -1}})}},
        {"remainder", "passthrough"}}},
      {"FeatureUnion",
       kClasses,
       {{"transformer_list", ValueList{ValueList{"scaled", scaler()}, ValueList{"same", "passthrough"}}}}},
  };
}

std::vector<CheckedJob> estimator_jobs() {
  const std::vector<Need> all = needs();
  std::vector<CheckedJob> jobs;
  for (const engine::CatalogueEntry& entry : engine::catalogue()) {
    // Texts are taken apart on the host; the places of an embedding are as far apart as rounding, which grows, makes
    // them. IsotonicRegression takes one column, and is computed on the host.
    const bool is_left_out = entry.info.name == "IsotonicRegression" || entry.info.kind == "embedding" ||
                             (entry.info.family == "feature_extraction" && entry.info.name != "TfidfTransformer");
    if (is_left_out) continue;
    const auto need = std::ranges::find(all, entry.info.name, &Need::estimator);
    CheckedJob job{.name = entry.info.name,
                   .data = entry.info.kind == "regressor" ? DataKind::kValues : DataKind::kClasses};
    if (entry.info.family == "multioutput") job.targets = {"y", "x0"};
    if (need == all.end()) {
      job.pipeline = {{entry.info.name, {}}};
    } else {
      job.pipeline = {{entry.info.name, need->params}};
      job.data = need->data, job.bound64 = need->bound64, job.bound32 = need->bound32;
      job.free_signs = need->free_signs;
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Value step(const char* estimator, ValueMap params = {}) {
  return ValueMap{{"estimator", estimator}, {"params", std::move(params)}};
}

std::vector<Step> steps_of_a_mixed_table() {
  const Value numbers = ValueList{step("SimpleImputer"), step("StandardScaler")};
  const Value parts =
      ValueList{ValueMap{{"name", "num"}, {"columns", ValueMap{{"dtypeInclude", "number"}}}, {"transformer", numbers}},
                ValueMap{{"name", "cat"},
                         {"columns", ValueMap{{"dtypeInclude", "category"}}},
                         {"transformer", ValueList{step("OneHotEncoder")}}}};
  return {{"ColumnTransformer", {{"transformers", parts}}}, {"LogisticRegression", {}}};
}

// Vectors of codes, norms and dropout; the epoch that a scorer finds best.
std::vector<Step> network_of_layers() {
  const Value embedding =
      ValueMap{{"embedding", ValueMap{{"columns", ValueList{0, 2}}, {"input_dim", 64}, {"output_dim", 4}}}};
  return {{"MLPClassifier",
           {{"layers",
             ValueList{embedding, "dense(32)", "batch_norm", "gelu", "dropout(0.2)", "dense(16, relu)", "layer_norm"}},
            {"solver", "adamw"},
            {"lr_schedule", "cosine(10)"},
            {"max_grad_norm", 1.0},
            {"max_iter", 10},
            {"early_stopping", true},
            {"scoring", "neg_log_loss"},
            {"random_state", 0}}}};
}

std::vector<CheckedJob> whole_jobs() {
  const schema::CrossValidate folds{.cv = 3, .scoring = {"accuracy", "neg_log_loss"}, .confusionMatrix = true};
  const schema::CrossValidate values{.cv = 3, .scoring = {"r2", "neg_mean_absolute_error"}, .returnTrainScore = true};
  return {
      {"a mixed table, cross-validated", DataKind::kMixed, steps_of_a_mixed_table(), folds, kStopped64, kStopped32},
      {"a forest, cross-validated", DataKind::kClasses, {{"RandomForestClassifier", {{"n_estimators", 8}}}}, folds},
      {"components and neighbours, cross-validated",
       DataKind::kClasses,
       {{"StandardScaler", {}}, {"PCA", {{"n_components", 3}}}, {"KNeighborsClassifier", {}}},
       folds},
      {"a network of layers, cross-validated", DataKind::kCounts, network_of_layers(), folds, kStopped64, kStopped32},
      {"ridge regression, cross-validated", DataKind::kValues, {{"StandardScaler", {}}, {"Ridge", {}}}, values},
      {"a search over neighbours",
       DataKind::kClasses,
       {{"StandardScaler", {}}, {"KNeighborsClassifier", {}, "model"}},
       schema::GridSearch{.paramGrid = ValueMap{{"model__n_neighbors", ValueList{1, 3, 5}},
                                                {"model__weights", ValueList{"uniform", "distance"}}},
                          .crossValidate = {.cv = 3}}},
  };
}

}   // namespace

std::vector<CheckedJob> checked_jobs() {
  std::vector<CheckedJob> jobs = estimator_jobs();
  std::ranges::move(whole_jobs(), std::back_inserter(jobs));
  return jobs;
}

}   // namespace kedge::gpu_check
