// Interactions of columns: shap's numbers, the definition of the interaction index, and rows that add up to the
// contributions.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "engine/model/model_plan.h"
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

struct Asking {
  Game game;
  AskedCells cells;
};

// Three trees of which the first is a leaf, and random rows.
Asking random_asking(unsigned seed, std::int64_t n_columns, std::int64_t n_rows, int depth = 9) {
  std::mt19937 random(seed);
  Asking asking{.game = {.trees = {.n_cols = n_columns, .n_outputs = static_cast<std::int32_t>(1 + seed % 6)}}};
  ShapTrees& trees = asking.game.trees;
  for (int t = 0; t < 3; ++t) {
    grow(asking.game, random, t == 0 ? 0 : depth, 100);
    trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
  }
  asking.cells = {.n_rows = n_rows, .rows = std::vector<double>(static_cast<std::size_t>(n_rows * n_columns))};
  for (double& cell : asking.cells.rows) cell = static_cast<double>(random() % 1000) / 1000;
  return asking;
}

std::vector<double> answers_of(const Asking& asking, bool among_pairs) {
  AskedCells cells = asking.cells;
  cells.among_pairs = among_pairs;
  return threshold_contributions(asking.game.trees, asking.game.threshold, cells);
}

// Of rows of matrices with their expected answers: symmetric, and each row adds up to the contribution.
void expect_to_add_up(const std::vector<double>& pairs, const std::vector<double>& columns, std::size_t n, double apart,
                      const std::string& what) {
  ASSERT_EQ(pairs.size() / (n * n + 1), columns.size() / (n + 1)) << what;
  ASSERT_EQ(pairs.size() % (n * n + 1), 0U) << what;
  for (std::size_t k = 0; k < columns.size() / (n + 1); ++k) {
    const double *matrix = pairs.data() + k * (n * n + 1), *of = columns.data() + k * (n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(std::accumulate(matrix + i * n, matrix + (i + 1) * n, 0.0), of[i],
                  apart * std::max(1.0, std::abs(of[i])))
          << what << " matrix " << k << " column " << i;
      for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(matrix[i * n + j], matrix[j * n + i]) << what;
    }
    ASSERT_EQ(matrix[n * n], of[n]) << what << " matrix " << k;
  }
}

// --- the definition ---

// What a tree is expected to answer when the columns of `known` are known.
double expected(const Game& game, std::size_t node, const double* row, std::uint32_t known, std::size_t output) {
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

// Half of the average, over all subsets of the other columns weighted by their sizes, of what the two columns add
// together beyond what each adds alone. By subset: what all trees answer.
double interaction(const std::vector<double>& answers, std::size_t i, std::size_t j, int d) {
  double sum = 0;
  for (std::uint32_t known = 0; known < answers.size(); ++known) {
    if ((known >> i & 1) != 0 || (known >> j & 1) != 0) continue;
    const int size = std::popcount(known);
    const double weight = std::tgamma(size + 1.0) * std::tgamma(d - size - 1.0) / (2 * std::tgamma(d));
    sum += weight *
           (answers[known | 1U << i | 1U << j] - answers[known | 1U << i] - answers[known | 1U << j] + answers[known]);
  }
  return sum;
}

TEST(TreeInteractions, AreHalvesOfTheInteractionIndex) {
  constexpr std::size_t kColumns = 6, kRows = 35;   // more than a block
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Asking asking = random_asking(seed, kColumns, kRows);
    const std::vector<double> pairs = answers_of(asking, true), columns = answers_of(asking, false);
    expect_to_add_up(pairs, columns, kColumns, 1e-13, fmt::format("seed {}", seed));
    const auto n_outputs = static_cast<std::size_t>(asking.game.trees.n_outputs);
    for (std::size_t row = 0; row < kRows; row += 17) {
      for (std::size_t k = 0; k < n_outputs; ++k) {
        std::vector<double> answers(1U << kColumns);
        for (std::uint32_t known = 0; known < answers.size(); ++known)
          for (std::size_t t = 0; t < 3; ++t)
            answers[known] += expected(asking.game, static_cast<std::size_t>(asking.game.trees.tree_offset[t]),
                                       asking.cells.rows.data() + row * kColumns, known, k);
        const double* matrix = pairs.data() + (row * n_outputs + k) * (kColumns * kColumns + 1);
        for (std::size_t i = 0; i < kColumns; ++i)
          for (std::size_t j = i + 1; j < kColumns; ++j)
            EXPECT_NEAR(matrix[i * kColumns + j], interaction(answers, i, j, kColumns), 1e-13)
                << "seed " << seed << " row " << row << " output " << k << " columns " << i << ", " << j;
      }
    }
  }
}

TEST(TreeInteractions, OfTreesThatAddToOneOutputEach) {
  Asking each = random_asking(0, 6, 5);
  ShapTrees& trees = each.game.trees;
  trees.n_outputs = 2, trees.tree_output = {1, 0, 1}, trees.scale = 0.5, trees.base = {3, 4};
  const std::vector<double> pairs = answers_of(each, true);
  expect_to_add_up(pairs, answers_of(each, false), 6, 1e-13, "two outputs");
  EXPECT_GT(std::abs(pairs[1]) + std::abs(pairs[2]) + std::abs(pairs[3]), 0);
}

// A pair's share of a leaf: the integral over t of the other columns' factors z + (o - z) t, by its coefficients.
struct Factor {
  std::int32_t column;
  double z, o;
};
double share_of(const std::vector<Factor>& path, std::size_t i, std::size_t j) {
  std::vector<double> product{1};
  for (std::size_t c = 0; c < path.size(); ++c) {
    if (c == i || c == j) continue;
    product.push_back(0);
    for (std::size_t p = product.size(); p-- > 0;)
      product[p] = product[p] * path[c].z + (p > 0 ? product[p - 1] * (path[c].o - path[c].z) : 0);
  }
  double integral = 0;
  for (std::size_t p = 0; p < product.size(); ++p) integral += product[p] / static_cast<double>(p + 1);
  return integral * (path[i].o - path[i].z) * (path[j].o - path[j].z) / 2;
}

// More pairs in a tree than are summed up at once.
TEST(TreeInteractions, OfManyColumnsAreThoseOfTheLeavesOneByOne) {
  constexpr std::int64_t kColumns = 450;
  Asking asking = random_asking(6, kColumns, 2, 0);   // one output
  std::mt19937 random(1);
  ShapTrees& trees = asking.game.trees;
  while (trees.feature.size() < 9000) {   // the trees of the test above often end early
    trees.feature.resize(2), trees.left.resize(2), trees.right.resize(2), trees.cover.resize(2), trees.value.resize(2);
    asking.game.threshold.resize(2);
    grow(asking.game, random, 18, 100);
  }
  trees.tree_offset.back() = static_cast<std::int64_t>(trees.feature.size());
  const std::vector<double> pairs = answers_of(asking, true);
  std::vector<double> wanted(static_cast<std::size_t>(kColumns * kColumns));
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  const double* row = asking.cells.rows.data() + kColumns;
  std::vector<Factor> path;
  const std::function<void(std::size_t)> visit = [&](std::size_t node) {
    if (trees.feature[node] < 0) {
      for (std::size_t i = 0; i < path.size(); ++i)
        for (std::size_t j = i + 1; j < path.size(); ++j) {
          const auto [low, high] = std::minmax(path[i].column, path[j].column);
          wanted[static_cast<std::size_t>(low * kColumns + high)] += trees.value[node] * share_of(path, i, j);
          seen.insert({low, high});
        }
      return;
    }
    const std::int32_t column = trees.feature[node];
    const bool goes_left = row[column] <= asking.game.threshold[node];
    for (const bool is_left : {true, false}) {
      const auto child = static_cast<std::size_t>(is_left ? trees.left[node] : trees.right[node]);
      const std::vector<Factor> before = path;
      auto known = std::ranges::find(path, column, &Factor::column);
      if (known == path.end()) known = path.insert(path.end(), {column, 1, 1});
      known->z *= trees.cover[child] / trees.cover[node], known->o *= goes_left == is_left ? 1 : 0;
      visit(child);
      path = before;
    }
  };
  visit(2);
  ASSERT_GT(seen.size(), std::size_t{1} << 14);
  for (std::size_t i = 0; i < kColumns; ++i)
    for (std::size_t j = i + 1; j < kColumns; ++j)
      ASSERT_NEAR(pairs[kColumns * kColumns + 1 + i * kColumns + j], wanted[i * kColumns + j], 1e-13) << i << " " << j;
}

TEST(TreeInteractions, HaveTheSameBits) {
  Asking asking = random_asking(2, 9, 70);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<double> alone = answers_of(asking, true);
  omp_set_num_threads(3);
  EXPECT_EQ(answers_of(asking, true), alone);
  omp_set_num_threads(before);
  const std::size_t row_size = alone.size() / 70;
  asking.cells.n_rows = 1, asking.cells.rows.erase(asking.cells.rows.begin(), asking.cells.rows.begin() + 9 * 41);
  asking.cells.rows.resize(9);
  EXPECT_EQ(answers_of(asking, true), std::vector<double>(alone.begin() + static_cast<std::ptrdiff_t>(41 * row_size),
                                                          alone.begin() + static_cast<std::ptrdiff_t>(42 * row_size)));
}

// --- shap ---

TEST(Interactions, AgreeWithShap) {
  for (const auto& [name, values] : golden_cases(KEDGE_SOURCE_FOLDER "/interactions_golden.json")) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const auto model =
        fitted(ctx, schema::from_json<schema::JobSpec>(schema::value_to_json(at(values, "spec"))), folder.path());
    ModelRows rows{.values = numbers(at(values, "rows"))};
    for (const schema::ModelColumn& column : model->info().columns) rows.features.push_back({.name = column.name});
    rows.n_rows = static_cast<std::int64_t>(rows.values.size() / rows.features.size());
    const ModelAnswer answer = model->answer(ctx, rows, "interactions");
    const std::vector<double> wanted = numbers(at(values, "interactions"));
    ASSERT_EQ(answer.numbers.size(), wanted.size()) << name;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(answer.numbers[i], wanted[i], 1e-9 * std::max(1.0, std::abs(wanted[i]))) << name << " " << i;
  }
}

// --- answers ---

struct Asked {
  const char *dataset, *step;
};

std::unique_ptr<StoredModel> fitted(const Context& ctx, const Asked& asked, const std::filesystem::path& folder) {
  return fitted(
      ctx,
      schema::from_json<schema::JobSpec>(fmt::format(
          R"({{"dataset": {{"builtin": "{}"}}, "pipeline": [{{"estimator": "StandardScaler"}}, {}], "task": {{"fit": {{}}}}}})",
          asked.dataset, asked.step)),
      folder);
}

TEST(Interactions, OfEachKindOfModelAddUpToItsContributions) {
  const Asked cases[] = {
      {"iris", R"({"estimator": "DecisionTreeClassifier"})"},
      {"iris", R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 10}})"},
      {"breast_cancer", R"({"estimator": "ExtraTreesClassifier", "params": {"n_estimators": 10}})"},
      {"diabetes", R"({"estimator": "RandomForestRegressor", "params": {"n_estimators": 10}})"},
      {"diabetes", R"({"estimator": "GradientBoostingRegressor", "params": {"loss": "huber"}})"},
      {"iris", R"({"estimator": "GradientBoostingClassifier", "params": {"n_estimators": 10}})"},
      {"iris", R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 10}})"},
      {"breast_cancer", R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 10}})"},
      {"diabetes", R"({"estimator": "HistGradientBoostingRegressor"})"},
      {"diabetes", R"({"estimator": "IsolationForest"})"},
      {"diabetes", R"({"estimator": "Ridge"})"},
      {"iris", R"({"estimator": "LogisticRegression"})"}};
  for (const Asked& c : cases) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const auto model = fitted(ctx, c, folder.path());
    EXPECT_THAT(model->info().outputs, testing::Contains("interactions")) << c.step;
    const ModelRows rows = DatasetRows(model->info(), builtin(c.dataset), 40).rows(0, 40);
    const ModelAnswer pairs = model->answer(ctx, rows, "interactions"),
                      columns = model->answer(ctx, rows, "contributions");
    ASSERT_EQ(pairs.columns.size(), static_cast<std::size_t>(pairs.n_cols)) << c.step;
    expect_to_add_up(pairs.numbers, columns.numbers, rows.features.size(), 1e-11, c.step);
  }
}

TEST(Interactions, AreNamedByTheirColumns) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = fitted(ctx, {"iris", R"({"estimator": "DecisionTreeClassifier"})"}, folder.path());
  const ModelAnswer answer =
      model->answer(ctx, DatasetRows(model->info(), builtin("iris"), 1).rows(0, 1), "interactions");
  const std::string first = model->info().columns[0].name, second = model->info().columns[1].name;
  ASSERT_EQ(answer.columns.size(), 3U * 17);
  EXPECT_EQ(answer.columns[1], fmt::format("setosa:{}*{}", first, second));
  EXPECT_EQ(answer.columns[4], fmt::format("setosa:{}*{}", second, first));
  EXPECT_EQ(answer.columns[16], "setosa:expected_value");
  EXPECT_EQ(answer.columns[17], fmt::format("versicolor:{}*{}", first, first));
}

TEST(Interactions, OfALineAreADiagonal) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = fitted(ctx, {"diabetes", R"({"estimator": "LinearRegression"})"}, folder.path());
  const ModelRows rows = DatasetRows(model->info(), builtin("diabetes"), 3).rows(0, 3);
  const ModelAnswer pairs = model->answer(ctx, rows, "interactions"), parts = model->answer(ctx, rows, "contributions");
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t j = 0; j < 10; ++j)
        EXPECT_EQ(pairs.numbers[row * 101 + i * 10 + j], i == j ? parts.numbers[row * 11 + i] : 0);
}

std::string refusal_of(const std::function<void()>& work, const char* where) {
  try {
    work();
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, where);
    return error.message;
  }
  ADD_FAILURE() << "it was taken";
  return {};
}

TEST(Interactions, OfTooManyNumbersAreRefused) {
  ShapTrees trees{.n_cols = 3000, .tree_offset = {0, 1}};
  trees.feature = {-1}, trees.left = trees.right = {0}, trees.cover = {1}, trees.value = {1};
  const auto none = [](std::int64_t, std::int64_t, std::int64_t, std::uint8_t*) {};
  EXPECT_EQ(refusal_of([&] { tree_interactions(trees, 1, none); }, "rows"),
            "interactions of 1 rows are 9000001 numbers, 9000001 each, at most 8000000 are answered at once");
  trees.n_cols = 2'000'000'000, trees.n_outputs = 1000;   // beyond 64 bits
  refusal_of([&] { tree_interactions(trees, 1'000'000'000, none); }, "rows");

  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  for (const char* step : {R"({"estimator": "DecisionTreeRegressor"})", R"({"estimator": "Ridge"})"}) {
    const auto model = fitted(ctx, {"diabetes", step}, folder.path());
    ModelRows rows = DatasetRows(model->info(), builtin("diabetes"), 400).rows(0, 400);
    for (std::int64_t wanted = 80'000; rows.n_rows < wanted; rows.n_rows *= 2)
      rows.values.insert(rows.values.end(), rows.values.begin(), rows.values.begin() + rows.n_rows * 10);
    EXPECT_EQ(refusal_of([&] { answer_rows(ctx, *model, rows, "interactions"); }, "rows"),
              "interactions of 102400 rows are 10342400 numbers, 101 each, at most 8000000 are answered at once");
    EXPECT_EQ(refusal_of(
                  [&] {
                    answer_in_tiles(ctx, *model, {.n_rows = 102400, .end = 102400}, 32, "interactions",
                                    [&](auto first, auto count) {
                                      return DatasetRows(model->info(), builtin("diabetes"), 400).rows(first, count);
                                    });
                  },
                  "rows"),
              "interactions of 102400 rows are 10342400 numbers, 101 each, at most 8000000 are answered at once");
  }
}

TEST(Interactions, TakeNoBackground) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = fitted(ctx, {"diabetes", R"({"estimator": "DecisionTreeRegressor"})"}, folder.path());
  ModelRows rows = DatasetRows(model->info(), builtin("diabetes"), 4).rows(0, 4);
  rows.background = std::make_shared<const ModelRows>(rows);
  EXPECT_EQ(refusal_of([&] { answer_rows(ctx, *model, rows, "interactions"); }, "background"),
            "background is given with the output 'interactions', must be given with 'contributions' alone");
}

TEST(Interactions, OfOtherModelsAreRefusedWithWhatTheyHave) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = fitted(ctx, {"iris", R"({"estimator": "GaussianNB"})"}, folder.path());
  const ModelRows rows = DatasetRows(model->info(), builtin("iris"), 1).rows(0, 1);
  EXPECT_THAT(refusal_of([&] { model->answer(ctx, rows, "interactions"); }, "output"),
              testing::HasSubstr("output is 'interactions', this model has predict"));
}

}   // namespace
}   // namespace kedge::engine
