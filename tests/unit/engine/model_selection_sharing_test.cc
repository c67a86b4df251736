// Candidates of a search that share work score what fits of their own score, and the shared work is done once a fold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/wide/byte_products.h"
#include "engine/backend/loader.h"
#include "engine/core/legacy_random.h"
#include "engine/model_selection/search.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

constexpr double kSameBits = 0;
constexpr double kRounding = 1e-12;       // of a product that has more columns
constexpr double kPathTolerance = 1e-6;   // two solutions within tol = 1e-9 of the minimum
constexpr std::int64_t kFolds = 3;

Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

// Noise, except the first two columns, which say something.
struct Problem {
  std::shared_ptr<Table<double>> table = std::make_shared<Table<double>>();
  TaskTarget target;

  Problem(std::int64_t n, std::int64_t d, TargetKind kind) {
    LegacyRandom random(7);
    std::vector<double> X;
    for (std::int64_t i = 0; i < n * d; ++i) X.push_back(2 * random.uniform() - 1);
    table->X = Matrix<double>(cpu().memory(), n, d, X);
    target.kind = kind;
    for (std::int64_t i = 0; i < n; ++i) {
      const double y = 2 * X[static_cast<std::size_t>(i * d)] - X[static_cast<std::size_t>(i * d + 1)] + 2 * random.uniform() - 1;
      if (kind == TargetKind::kValues) target.values.push_back(y);
      else target.codes.push_back(y < -0.7 ? 0 : y < 0.7 ? 1 : 2);
    }
    if (kind == TargetKind::kClasses) target.classes = {"a", "b", "c"};
  }
};

struct Sharing {
  std::string name, steps;   // steps as JSON; "?" is replaced by each of the values
  std::vector<std::string> values;
  std::string scorer;
  std::int64_t n_rows = 120, n_cols = 6;
  double tolerance = kSameBits;
  std::string kind;   // of shared work; there are `pieces` of it in a fold
  std::int64_t pieces = 1;
  friend void PrintTo(const Sharing& c, std::ostream* out) { *out << c.name; }
};

std::vector<schema::Step> steps_of(const Sharing& c, const std::string& value) {
  std::string text = c.steps;
  for (std::size_t at; (at = text.find('?')) != std::string::npos;) text.replace(at, 1, value);
  return schema::from_json<schema::JobSpec>(R"({"dataset": {"builtin": "iris"}, "task": {"fit": {}}, "pipeline": )" + text + "}")
      .pipeline;
}

using Pipelines = std::vector<std::vector<schema::Step>>;

Contenders contenders_of(Pipelines pipelines) {
  const auto kept = std::make_shared<const Pipelines>(std::move(pipelines));
  return {.size = kept->size(), .pipeline = [kept](std::size_t i) { return shared_steps((*kept)[i]); }, .params = [](std::size_t) { return Candidate(); }};
}

class SharedSearch : public testing::TestWithParam<Sharing> {
 protected:
  SharedSearch()
      : problem_(GetParam().n_rows, GetParam().n_cols,
                 find_scorer(GetParam().scorer)->kind == ScorerKind::kRegression ? TargetKind::kValues
                                                                                 : TargetKind::kClasses),
        data_(problem_.table, problem_.target),
        splits_(k_fold(GetParam().n_rows, kFolds, 1)),
        setup_{.scorers = {find_scorer(GetParam().scorer)}} {}

  Round search(const std::vector<std::string>& values) {
    Pipelines pipelines;
    for (const std::string& value : values) pipelines.push_back(steps_of(GetParam(), value));
    return score_candidates(ctx_, contenders_of(std::move(pipelines)), data_, splits_, setup_);
  }

  Context ctx_{.device = cpu()};
  Problem problem_;
  TaskData<double> data_;
  std::vector<Split> splits_;
  SearchSetup setup_;
};

TEST_P(SharedSearch, ScoresWhatFitsOfTheirOwnScore) {
  const Round together = search(GetParam().values);
  for (std::size_t i = 0; i < GetParam().values.size(); ++i) {
    for (std::size_t k = 0; k < splits_.size(); ++k) {
      const Fold<double> fold(ctx_, data_, splits_[k]);
      const std::vector<schema::Step> steps = steps_of(GetParam(), GetParam().values[i]);
      const FoldScores alone = fit_and_score(ctx_, shared_steps(steps), fold, setup_.scorers, false);
      EXPECT_NEAR(together.scores[i][k].test[0], alone.test[0], GetParam().tolerance * std::abs(alone.test[0]))
          << GetParam().values[i] << " fold " << k;
    }
  }
}

TEST_P(SharedSearch, DoesTheSharedWorkOncePerFold) {
  const Round round = search(GetParam().values);
  ASSERT_TRUE(round.made.contains(GetParam().kind)) << testing::PrintToString(round.made);
  EXPECT_EQ(round.made.at(GetParam().kind), GetParam().pieces * kFolds);
}

TEST_P(SharedSearch, DoesNotDependOnTheOrderOfTheCandidates) {
  std::vector<std::string> reversed(GetParam().values.rbegin(), GetParam().values.rend());
  const Round there = search(GetParam().values), back = search(reversed);
  for (std::size_t i = 0; i < reversed.size(); ++i)
    for (std::size_t k = 0; k < splits_.size(); ++k)
      EXPECT_EQ(there.scores[i][k].test, back.scores[reversed.size() - 1 - i][k].test) << GetParam().values[i];
}

std::string one(const std::string& estimator, const std::string& params) {
  return R"([{"estimator": ")" + estimator + R"(", "params": {)" + params + "}}]";
}

const std::vector<std::string> kAlphas = {"0.01", "10.0", "1.0", "0.1", "100.0"};
const std::vector<std::string> kSmallAlphas = {"0.02", "0.2", "0.05", "0.1"};

const std::vector<Sharing> kCases = {
    {.name = "Logistic",
     .steps = one("LogisticRegression", R"("C": ?)"),
     .values = {"1.0", "0.01", "100.0", "0.1"},
     .scorer = "neg_log_loss",
     .kind = "logistic fits"},
    {.name = "LogisticByFeatures",
     .steps =
         R"([{"estimator": "PCA", "params": {"n_components": 3}}, {"estimator": "LogisticRegression", "params": {"C": ?}}])",
     .values = {"10.0", "1.0", "0.1"},
     .scorer = "neg_log_loss",
     .kind = "logistic fits"},
    {.name = "Neighbours",
     .steps = one("KNeighborsClassifier", R"("n_neighbors": ?)"),
     .values = {"3", "1", "17", "5"},
     .scorer = "neg_log_loss",
     .kind = "neighbours"},
    {.name = "NeighboursWeighted",
     .steps = one("KNeighborsClassifier", R"("weights": "distance", "n_neighbors": ?)"),
     .values = {"2", "9", "4"},
     .scorer = "neg_log_loss",
     .kind = "neighbours"},
    {.name = "NeighboursByWeights",
     .steps = one("KNeighborsRegressor", R"("weights": "?")"),
     .values = {"uniform", "distance"},
     .scorer = "r2",
     .kind = "neighbours"},
    {.name = "NeighboursByMetric",
     .steps = one("KNeighborsRegressor", R"("p": ?)"),
     .values = {"1", "2", "3"},
     .scorer = "r2",
     .kind = "neighbours",
     .pieces = 3},
    {.name = "NeighboursScanned",
     .steps = one("KNeighborsRegressor", R"("n_neighbors": ?)"),
     .values = {"3", "1", "40", "5"},
     .scorer = "r2",
     .n_cols = 40,
     .kind = "neighbours"},
    {.name = "NeighboursOfAllFolds",
     .steps = one("KNeighborsClassifier", R"("weights": "?", "n_neighbors": 30)"),
     .values = {"uniform", "distance"},
     .scorer = "neg_log_loss",
     .n_rows = 700,
     .n_cols = 32,
     .kind = "neighbours"},
    {.name = "NeighboursAfterAScaler",
     .steps =
         R"([{"estimator": "StandardScaler"}, {"estimator": "KNeighborsClassifier", "params": {"n_neighbors": ?}}])",
     .values = {"3", "11"},
     .scorer = "neg_log_loss",
     .kind = "neighbours"},
    {.name = "Ridge",
     .steps = one("Ridge", R"("alpha": ?)"),
     .values = kAlphas,
     .scorer = "r2",
     .tolerance = kRounding,
     .kind = "ridge problem"},
    {.name = "RidgeWide",
     .steps = one("Ridge", R"("alpha": ?)"),
     .values = kAlphas,
     .scorer = "r2",
     .n_rows = 40,
     .n_cols = 90,
     .tolerance = kRounding,
     .kind = "ridge problem"},
    {.name = "RidgeBySingularValues",
     .steps = one("Ridge", R"("solver": "svd", "alpha": ?)"),
     .values = kAlphas,
     .scorer = "r2",
     .tolerance = kRounding,
     .kind = "ridge problem"},
    {.name = "RidgePositive",
     .steps = one("Ridge", R"("positive": true, "alpha": ?)"),
     .values = kAlphas,
     .scorer = "r2",
     .tolerance = kRounding,
     .kind = "ridge problem"},
    {.name = "RidgePredictions",
     .steps = one("Ridge", R"("alpha": ?)"),
     .values = kAlphas,
     .scorer = "r2",
     .tolerance = kRounding,
     .kind = "ridge predictions"},
    {.name = "RidgeByIntercept",
     .steps = one("Ridge", R"("fit_intercept": ?)"),
     .values = {"true", "false"},
     .scorer = "r2",
     .tolerance = kRounding,
     .kind = "ridge problem",
     .pieces = 2},
    {.name = "RidgeClassifier",
     .steps = one("RidgeClassifier", R"("alpha": ?)"),
     .values = kAlphas,
     .scorer = "accuracy",
     .kind = "ridge problem"},
    {.name = "RidgeClassifierByWeight",
     .steps = one("RidgeClassifier", R"("class_weight": ?)"),
     .values = {"null", "\"balanced\""},
     .scorer = "accuracy",
     .kind = "ridge problem",
     .pieces = 2},
    {.name = "NeighboursOfRowsThatSmoteMade",   // which are made once a fold, with their classes
     .steps =
         R"([{"estimator": "SMOTE", "params": {"random_state": 0}}, {"estimator": "KNeighborsClassifier", "params": {"n_neighbors": ?}}])",
     .values = {"1", "4", "7"},
     .scorer = "accuracy",
     .kind = "fit"},
    {.name = "RidgeClassifierOfChosenRows",
     .steps =
         R"([{"estimator": "StandardScaler"}, {"estimator": "RandomUnderSampler"}, {"estimator": "RidgeClassifier", "params": {"alpha": ?}}])",
     .values = kAlphas,
     .scorer = "accuracy",
     .kind = "fit",
     .pieces = 2},
    {.name = "SmoteByNeighbours",
     .steps =
         R"([{"estimator": "SMOTE", "params": {"random_state": 0, "k_neighbors": ?}}, {"estimator": "GaussianNB"}])",
     .values = {"2", "5"},
     .scorer = "accuracy",
     .kind = "fit",
     .pieces = 2},
    {.name = "BoostingByStages",
     .steps = one("GradientBoostingClassifier", R"("subsample": 0.7, "max_features": 2, "n_estimators": ?)"),
     .values = {"4", "2", "9"},
     .scorer = "neg_log_loss",
     .kind = "boosting stages"},
    {.name = "SupportVectorsByC",
     .steps = one("SVC", R"("probability": true, "C": ?)"),
     .values = {"1.0", "0.1", "10.0"},
     .scorer = "neg_log_loss",
     .kind = "kernel rows"},
    {.name = "SupportVectorsByCAndGamma",
     .steps = one("SVC", R"("probability": true, ?)"),
     .values = {R"("C": 1, "gamma": 0.5)", R"("C": 1, "gamma": 2)", R"("C": 5, "gamma": 0.5)", R"("C": 5, "gamma": 2)"},
     .scorer = "neg_log_loss",
     .kind = "kernel rows",
     .pieces = 2},
    {.name = "SupportVectorsByNu",
     .steps = one("NuSVC", R"("probability": true, "nu": ?)"),
     .values = {"0.1", "0.3", "0.2"},
     .scorer = "neg_log_loss",
     .kind = "kernel rows"},
    {.name = "SupportVectorsOfRowsOnDemand",   // more than one working set
     .steps = one("SVR", R"("gamma": 0.2, "C": ?)"),
     .values = {"1.0", "0.1"},
     .scorer = "r2",
     .n_rows = 1560,
     .kind = "kernel rows"},
    {.name = "SupportVectorsOfAFewKeptRows",
     .steps = one("SVR", R"("gamma": 0.2, "cache_size": 0.1, "epsilon": ?)"),
     .values = {"0.4", "0.6"},
     .scorer = "r2",
     .n_rows = 1560,
     .kind = "kernel rows"},
    {.name = "SupportVectorsOfWideRows",   // not by products of our own: those on demand are not shared
     .steps = one("SVR", R"("C": ?)"),
     .values = {"1.0", "0.1"},
     .scorer = "r2",
     .n_rows = 1560,
     .n_cols = 300,
     .kind = "kernel rows"},
    {.name = "SmallNetworks",
     .steps = one("MLPClassifier", R"("max_iter": 15, ?)"),
     .values = {R"("alpha": 1.0)", R"("hidden_layer_sizes": [7, 5])", R"("solver": "lbfgs")",
                R"("early_stopping": true)", R"("hidden_layer_sizes": [3000])"},   // the last one is not small
     .scorer = "neg_log_loss",
     .kind = "network fits"},
    {.name = "SmallNetworksOfValues",
     .steps =
         R"([{"estimator": "StandardScaler"}, {"estimator": "MLPRegressor", "params": {"max_iter": 15, "learning_rate_init": ?}}])",
     .values = {"0.001", "0.1", "0.01"},
     .scorer = "r2",
     .kind = "network fits"},
    {.name = "BoostingThatStopsEarly",
     .steps = one("GradientBoostingRegressor", R"("loss": "huber", "n_iter_no_change": 2, "n_estimators": ?)"),
     .values = {"200", "3", "100"},
     .scorer = "r2",
     .kind = "boosting stages"},
    {.name = "BoostingByRateAndStages",   // stages of another rate are others
     .steps = one("GradientBoostingRegressor", R"("max_depth": 2, ?)"),
     .values = {R"("learning_rate": 0.3, "n_estimators": 5)", R"("learning_rate": 0.1, "n_estimators": 5)",
                R"("learning_rate": 0.3, "n_estimators": 8)", R"("learning_rate": 0.1, "n_estimators": 3)"},
     .scorer = "r2",
     .kind = "boosting stages",
     .pieces = 2},
    {.name = "HistBoostingByIterations",
     .steps = one("HistGradientBoostingClassifier", R"("max_features": 0.5, "max_iter": ?)"),
     .values = {"3", "8", "1"},
     .scorer = "neg_log_loss",
     .kind = "boosting iterations"},
    {.name = "HistBoostingThatStopsEarly",
     .steps = one("HistGradientBoostingRegressor",
                  R"("early_stopping": true, "n_iter_no_change": 2, "learning_rate": 0.5, "max_iter": ?)"),
     .values = {"2", "200", "60"},
     .scorer = "r2",
     .kind = "boosting iterations"},
    {.name = "HistBoostingOfCategories",
     .steps =
         R"([{"estimator": "KBinsDiscretizer", "params": {"encode": "ordinal"}}, {"estimator": "HistGradientBoostingRegressor", "params": {"categorical_features": [0, 1], "max_iter": ?}}])",
     .values = {"2", "7", "4"},
     .scorer = "r2",
     .kind = "boosting iterations"},
    {.name = "Lasso", .steps = one("Lasso", R"("alpha": ?)"), .values = kSmallAlphas, .scorer = "r2", .kind = "gram"},
    {.name = "ElasticNetByRatio",
     .steps = one("ElasticNet", R"("alpha": 0.1, "l1_ratio": ?)"),
     .values = {"0.2", "0.9", "0.5"},
     .scorer = "r2",
     .kind = "gram"},
    {.name = "LassoWide",
     .steps = one("Lasso", R"("tol": 1e-9, "max_iter": 10000, "alpha": ?)"),
     .values = kSmallAlphas,
     .scorer = "r2",
     .n_rows = 60,
     .n_cols = 1100,
     .tolerance = kPathTolerance,
     .kind = "elastic net path"},
};

INSTANTIATE_TEST_SUITE_P(Cases, SharedSearch, testing::ValuesIn(kCases), [](const auto& info) { return info.param.name; });

// The largest number of neighbours may be too large for the fold: that candidate fails, and the others do not.
TEST(SharedWork, LeavesACandidateWithTooManyNeighboursToFailAlone) {
  const Problem problem(30, 4, TargetKind::kValues);
  const Context ctx{.device = cpu()};
  const TaskData<double> data(problem.table, problem.target);
  const SearchSetup setup{.scorers = {find_scorer("r2")}, .error_score = std::nan("")};
  const Sharing c{.steps = one("KNeighborsRegressor", R"("n_neighbors": ?)")};
  const Round round =
      score_candidates(ctx, contenders_of({steps_of(c, "3"), steps_of(c, "25")}), data, k_fold(30, kFolds, 1), setup);
  for (std::size_t k = 0; k < kFolds; ++k) {
    EXPECT_TRUE(std::isfinite(round.scores[0][k].test[0]));
    EXPECT_TRUE(std::isnan(round.scores[1][k].test[0]));
  }
}

// One search finds the neighbours of all folds, and none needs points of its own.
TEST(SharedWork, PreparesNoPointsWhereAllFoldsAreSearchedAtOnce) {
  if (!has_byte_products()) GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  const Problem problem(700, 32, TargetKind::kValues);
  const Context ctx{.device = cpu()};
  const TaskData<double> data(problem.table, problem.target);
  const SearchSetup setup{.scorers = {find_scorer("r2")}};
  const auto steps = steps_of({.steps = one("KNeighborsRegressor", R"("n_neighbors": ?)")}, "9");
  const auto made = [&](const std::vector<Split>& splits) { return score_candidates(ctx, contenders_of({steps}), data, splits, setup).made; };
  EXPECT_FALSE(made(k_fold(700, kFolds, 1)).contains("points"));
  EXPECT_EQ(made(subsampled(k_fold(700, kFolds, 1), 0.9, 0)).at("points"), kFolds);   // which do not part the rows
}

}   // namespace
}   // namespace kedge::engine
