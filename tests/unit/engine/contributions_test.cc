// Contributions of trees: shap's numbers, the definition of Shapley values, and answers that are their sums.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "engine/core/params.h"
#include "schemas/codec.h"
#include "tests/unit/engine/contributions_fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using testing_trees::fitted;
using testing_trees::Game;
using testing_trees::grow;
using testing_trees::numbers;
using testing_trees::threshold_contributions;

// --- the definition ---

// What a tree is expected to answer when the columns of `known` are known.
double expected(const Game& game, std::size_t node, const std::vector<double>& row, std::uint32_t known,
                std::size_t output) {
  const ShapTrees& t = game.trees;
  if (t.feature[node] < 0) return t.value[node * static_cast<std::size_t>(t.n_outputs) + output];
  const auto left = static_cast<std::size_t>(t.left[node]), right = static_cast<std::size_t>(t.right[node]);
  const auto column = static_cast<std::size_t>(t.feature[node]);
  if ((known >> column & 1) != 0)
    return expected(game, row[column] <= game.threshold[node] ? left : right, row, known, output);
  return (t.cover[left] * expected(game, left, row, known, output) +
          t.cover[right] * expected(game, right, row, known, output)) /
         t.cover[node];
}

// The average over all subsets of the other columns, weighted by their sizes.
double shapley(const Game& game, std::size_t root, const std::vector<double>& row, std::size_t column,
               std::size_t output) {
  const auto d = static_cast<std::uint32_t>(row.size());
  double sum = 0;
  for (std::uint32_t known = 0; known < 1U << d; ++known) {
    if ((known >> column & 1) != 0) continue;
    const int size = std::popcount(known);
    const double weight = std::tgamma(size + 1.0) * std::tgamma(static_cast<double>(d) - size) / std::tgamma(d + 1.0);
    sum +=
        weight * (expected(game, root, row, known | 1U << column, output) - expected(game, root, row, known, output));
  }
  return sum;
}

TEST(TreeContributions, AreShapleyValues) {
  constexpr std::int64_t kColumns = 6, kRows = 35;   // more than a block
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    Game game{.trees = {.n_cols = kColumns, .n_outputs = static_cast<std::int32_t>(1 + seed % 3)}};
    ShapTrees& trees = game.trees;
    for (int t = 0; t < 3; ++t)
      grow(game, random, t == 0 ? 0 : 9, 100),
          trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
    std::vector<double> cells(kRows * kColumns);
    for (double& cell : cells) cell = static_cast<double>(random() % 1000) / 1000;
    const std::vector<double> found = threshold_contributions(trees, game.threshold, {.n_rows = kRows, .rows = cells});
    std::size_t place = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::vector<double> row(cells.begin() + i * kColumns, cells.begin() + (i + 1) * kColumns);
      for (std::size_t k = 0; k < static_cast<std::size_t>(trees.n_outputs); ++k) {
        for (std::size_t j = 0; j <= kColumns; ++j) {
          double sum = 0;
          for (std::size_t t = 0; t < 3; ++t) {
            const auto root = static_cast<std::size_t>(trees.tree_offset[t]);
            sum += j < kColumns ? shapley(game, root, row, j, k) : expected(game, root, row, 0, k);
          }
          EXPECT_NEAR(found[place++], sum, 1e-13)
              << "seed " << seed << " row " << i << " output " << k << " column " << j;
        }
      }
    }
  }
}

// A column that is 0 or 1 for each of 100 cuts of one path: more than the quadrature is exact for.
TEST(TreeContributions, AddUpOnPathsOfAHundredColumns) {
  constexpr std::int32_t kDepth = 100;
  ShapTrees trees{.n_cols = kDepth};
  for (std::int32_t i = 0; i < kDepth; ++i) {   // a cut and its left leaf
    const std::int32_t self = 2 * i;
    trees.feature.insert(trees.feature.end(), {i, -1}), trees.left.insert(trees.left.end(), {self + 1, 0});
    trees.right.insert(trees.right.end(), {self + 2, 0});
    const double cover = std::pow(0.9, i);
    trees.cover.insert(trees.cover.end(), {cover, cover * 0.1}),
        trees.value.insert(trees.value.end(), {0.0, i % 7 - 3.0});
  }
  trees.feature.push_back(-1), trees.left.push_back(0), trees.right.push_back(0),
      trees.cover.push_back(std::pow(0.9, kDepth)), trees.value.push_back(50);
  trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
  const std::vector<double> found =
      tree_contributions(trees, 1, [](std::int64_t, std::int64_t begin, std::int64_t end, std::uint8_t* left) {
        std::fill(left, left + (end - begin) * kShapLanes, std::uint8_t{0});
      });
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 50, 1e-11);
}

// --- shap ---

TEST(Contributions, AgreeWithShap) {
  for (const auto& [name, values] : golden_cases(KEDGE_SOURCE_FOLDER "/contributions_golden.json")) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const auto model =
        fitted(ctx, schema::from_json<schema::JobSpec>(schema::value_to_json(at(values, "spec"))), folder.path());
    ModelRows rows{.values = numbers(at(values, "rows"))};
    for (const schema::ModelColumn& column : model->info().columns) rows.features.push_back({.name = column.name});
    rows.n_rows = static_cast<std::int64_t>(rows.values.size() / rows.features.size());
    if (const Value* background = find_value(values, "background")) {
      ModelRows against{.values = numbers(*background), .features = rows.features};
      against.n_rows = static_cast<std::int64_t>(against.values.size() / rows.features.size());
      rows.background = std::make_shared<const ModelRows>(std::move(against));
    }
    const ModelAnswer answer = model->answer(ctx, rows, "contributions");
    const std::vector<double> wanted = numbers(at(values, "contributions"));
    ASSERT_EQ(answer.numbers.size(), wanted.size());
    const Value* const own = find_value(values, "apart");
    const double apart = own ? number(*own) : 1e-9;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(answer.numbers[i], wanted[i], apart * std::max(1.0, std::abs(wanted[i]))) << name << " " << i;
  }
}

// --- answers ---

struct Asked {
  const char *dataset, *step, *output;
};

TEST(Contributions, AddUpToTheAnswer) {
  const Asked cases[] = {
      {"iris", R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 10}})", "predict_proba"},
      {"breast_cancer", R"({"estimator": "ExtraTreesClassifier", "params": {"n_estimators": 10}})", "predict_proba"},
      {"diabetes", R"({"estimator": "RandomForestRegressor", "params": {"n_estimators": 10}})", "predict"},
      {"diabetes", R"({"estimator": "GradientBoostingRegressor", "params": {"loss": "huber"}})", "predict"},
      {"iris", R"({"estimator": "GradientBoostingClassifier", "params": {"n_estimators": 10}})", "decision_function"},
      {"iris", R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 10}})", "decision_function"},
      {"breast_cancer", R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 10}})",
       "decision_function"},
      {"diabetes", R"({"estimator": "HistGradientBoostingRegressor"})", "predict"}};
  for (const Asked& c : cases) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const std::string job = fmt::format(
        R"({{"dataset": {{"builtin": "{}"}}, "pipeline": [{{"estimator": "StandardScaler"}}, {}], "task": {{"fit": {{}}}}}})",
        c.dataset, c.step);
    const auto model = fitted(ctx, schema::from_json<schema::JobSpec>(job), folder.path());
    const ModelRows rows = DatasetRows(model->info(), builtin(c.dataset), 40).rows(0, 40);
    const ModelAnswer answer = model->answer(ctx, rows, c.output), parts = model->answer(ctx, rows, "contributions");
    const std::size_t width = rows.features.size() + 1, n_answers = answer.numbers.size();
    ASSERT_EQ(parts.numbers.size(), n_answers * width) << c.step;
    ASSERT_EQ(parts.columns.size(), static_cast<std::size_t>(parts.n_cols));
    EXPECT_THAT(parts.columns.back(), testing::EndsWith("expected_value"));
    for (std::size_t i = 0; i < n_answers; ++i) {
      const double sum = std::accumulate(parts.numbers.begin() + static_cast<std::ptrdiff_t>(i * width),
                                         parts.numbers.begin() + static_cast<std::ptrdiff_t>((i + 1) * width), 0.0);
      ASSERT_NEAR(sum, answer.numbers[i], 1e-11 * std::max(1.0, std::abs(answer.numbers[i])))
          << c.dataset << c.step << " answer " << i;
    }
  }
}

// What each line answers with, one of each class of parameters; a log is that of the prediction.
TEST(Contributions, OfLinesAddUpToTheAnswer) {
  const Asked cases[] = {{"iris", "LogisticRegression", "decision_function"},
                         {"breast_cancer", "LogisticRegressionCV", "decision_function"},
                         {"iris", "RidgeClassifier", "decision_function"},
                         {"breast_cancer", "RidgeClassifierCV", "decision_function"},
                         {"iris", "LinearSVC", "decision_function"},
                         {"iris", "SGDClassifier", "decision_function"},
                         {"breast_cancer", "Perceptron", "decision_function"},
                         {"iris", "PassiveAggressiveClassifier", "decision_function"},
                         {"diabetes", "ARDRegression", "predict"},
                         {"diabetes", "BayesianRidge", "predict"},
                         {"diabetes", "ElasticNet", "predict"},
                         {"diabetes", "ElasticNetCV", "predict"},
                         {"diabetes", "HuberRegressor", "predict"},
                         {"diabetes", "Lars", "predict"},
                         {"diabetes", "LarsCV", "predict"},
                         {"diabetes", "Lasso", "predict"},
                         {"diabetes", "LassoCV", "predict"},
                         {"diabetes", "LassoLars", "predict"},
                         {"diabetes", "LassoLarsCV", "predict"},
                         {"diabetes", "LassoLarsIC", "predict"},
                         {"diabetes", "LinearRegression", "predict"},
                         {"diabetes", "LinearSVR", "predict"},
                         {"diabetes", "OrthogonalMatchingPursuit", "predict"},
                         {"diabetes", "PassiveAggressiveRegressor", "predict"},
                         {"diabetes", "QuantileRegressor", "predict"},
                         {"diabetes", "Ridge", "predict"},
                         {"diabetes", "RidgeCV", "predict"},
                         {"diabetes", "SGDRegressor", "predict"},
                         {"diabetes", "TheilSenRegressor", "predict"},
                         {"diabetes", "GammaRegressor", "log"},
                         {"diabetes", "PoissonRegressor", "log"},
                         {"diabetes", "TweedieRegressor", "predict"}};
  for (const Asked& c : cases) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const std::string job = fmt::format(
        R"({{"dataset": {{"builtin": "{}"}}, "pipeline": [{{"estimator": "StandardScaler"}}, {{"estimator": "{}"}}], "task": {{"fit": {{}}}}}})",
        c.dataset, c.step);
    const auto model = fitted(ctx, schema::from_json<schema::JobSpec>(job), folder.path());
    const bool is_log = std::string_view(c.output) == "log";
    const ModelRows rows = DatasetRows(model->info(), builtin(c.dataset), 40).rows(0, 40);
    const ModelAnswer answer = model->answer(ctx, rows, is_log ? "predict" : c.output);
    const ModelAnswer parts = model->answer(ctx, rows, "contributions");
    const std::size_t width = rows.features.size() + 1;
    ASSERT_EQ(parts.numbers.size(), answer.numbers.size() * width) << c.step;
    for (std::size_t i = 0; i < answer.numbers.size(); ++i) {
      const auto begin = parts.numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
      const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(width), 0.0);
      const double said = is_log ? std::log(answer.numbers[i]) : answer.numbers[i];
      ASSERT_NEAR(sum, said, 1e-10 * std::max(1.0, std::abs(said))) << c.step << " answer " << i;
    }
  }
}

// The columns of the scaled rows have the mean 0, so that the expected answer is the intercept.
TEST(Contributions, OfALineAreCountedFromTheMeansOfItsOwnColumns) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto job = [](const char* steps) {
    return schema::from_json<schema::JobSpec>(
        fmt::format(R"({{"dataset": {{"builtin": "diabetes"}}, "pipeline": [{}], "task": {{"fit": {{}}}}}})", steps));
  };
  const auto scaled =
      fitted(ctx, job(R"({"estimator": "StandardScaler"}, {"estimator": "LinearRegression"})"), folder.path());
  const ModelRows rows = DatasetRows(scaled->info(), builtin("diabetes"), 3).rows(0, 3);
  const ModelAnswer own = scaled->answer(ctx, rows, "contributions");
  const TemporaryFolder other;
  const ModelAnswer plain =
      fitted(ctx, job(R"({"estimator": "LinearRegression"})"), other.path())->answer(ctx, rows, "contributions");
  EXPECT_NEAR(own.numbers[10], 152.13348416289594, 1e-9);   // the mean of the target
  for (std::size_t i = 0; i < own.numbers.size(); ++i) EXPECT_NEAR(own.numbers[i], plain.numbers[i], 1e-8);
}

// Models of before have no means.
TEST(Contributions, OfAnOlderLineAreRefused) {
  const Context ctx{.device = cpu()};
  const auto model = StoredModel::load(ctx, KEDGE_SOURCE_FOLDER "/ridge_without_means.kedge");
  EXPECT_THAT(model->info().outputs, testing::Not(testing::Contains("contributions")));
  ModelRows rows{.n_rows = 1, .values = std::vector<double>(model->info().columns.size())};
  for (const schema::ModelColumn& column : model->info().columns) rows.features.push_back({.name = column.name});
  EXPECT_EQ(model->answer(ctx, rows, "predict").numbers.size(), 1U);
  EXPECT_THROW(model->answer(ctx, rows, "contributions"), schema::Error);
}

TEST(Contributions, OfAnIsolationForestAddUpToTheMeanPath) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = fitted(
      ctx,
      schema::from_json<schema::JobSpec>(
          R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "IsolationForest", "params": {"max_samples": 150}}], "task": {"fit": {}}})"),
      folder.path());
  const ModelRows rows = DatasetRows(model->info(), builtin("iris"), 40).rows(0, 40);
  const ModelAnswer scores = model->answer(ctx, rows, "score_samples"),
                    parts = model->answer(ctx, rows, "contributions");
  constexpr double kEuler = 0.57721566490153286;
  const double average = 2 * (std::log(149.0) + kEuler) - 2 * 149.0 / 150;   // path in a tree of 150 rows
  ASSERT_EQ(parts.numbers.size(), 40U * 5);
  for (std::size_t i = 0; i < 40; ++i) {
    const auto begin = parts.numbers.begin() + static_cast<std::ptrdiff_t>(5 * i);
    EXPECT_NEAR(-std::exp2(-std::accumulate(begin, begin + 5, 0.0) / average), scores.numbers[i], 1e-12);
  }
}

TEST(Contributions, OfATreeOfTooManyLevelsAreRefused) {
  constexpr std::int32_t kDepth = 1025;
  ShapTrees trees{.n_cols = 1};
  for (std::int32_t i = 0; i < kDepth; ++i) {   // a cut and its left leaf
    trees.feature.insert(trees.feature.end(), {0, -1}), trees.left.insert(trees.left.end(), {2 * i + 1, 0});
    trees.right.insert(trees.right.end(), {2 * i + 2, 0}), trees.cover.insert(trees.cover.end(), {2.0, 1.0});
    trees.value.insert(trees.value.end(), {0.0, 1.0});
  }
  trees.feature.push_back(-1), trees.left.push_back(0), trees.right.push_back(0), trees.cover.push_back(1),
      trees.value.push_back(1);
  trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
  const std::vector<double> threshold(trees.feature.size());
  try {
    threshold_contributions(trees, threshold, {.n_rows = 1, .rows = {0.0}});
    ADD_FAILURE() << "it has contributions";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "output");
    EXPECT_EQ(error.message, "contributions are of trees of at most 1024 levels, this model has more");
  }
}

TEST(Contributions, OfOtherModelsAreRefusedWithWhatTheyHave) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model =
      fitted(ctx,
             schema::from_json<schema::JobSpec>(
                 R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"fit": {}}})"),
             folder.path());
  try {
    model->answer(ctx, DatasetRows(model->info(), builtin("iris"), 1).rows(0, 1), "contributions");
    ADD_FAILURE() << "it has contributions";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "output");
    EXPECT_THAT(error.message, testing::HasSubstr("this model has predict"));
  }
}

}   // namespace
}   // namespace kedge::engine
