// Contributions against background rows: the definition of Shapley values, answers that are their sums, refusals.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/model/model_plan.h"
#include "schemas/codec.h"
#include "tests/unit/engine/contributions_fixture.h"

namespace kedge::engine {
namespace {

using testing_trees::fitted;
using testing_trees::Game;
using testing_trees::grow;
using testing_trees::threshold_contributions;

// What a tree answers to a row.
double answer_of(const Game& game, std::size_t node, const std::vector<double>& row, std::size_t output) {
  const ShapTrees& t = game.trees;
  while (t.feature[node] >= 0) {
    const bool is_left = row[static_cast<std::size_t>(t.feature[node])] <= game.threshold[node];
    node = static_cast<std::size_t>(is_left ? t.left[node] : t.right[node]);
  }
  return t.value[node * static_cast<std::size_t>(t.leaf_values()) + output];
}

struct Asking {
  Game game;
  AskedCells cells;
};

Asking random_asking(unsigned seed, std::int64_t n_columns, std::int64_t n_rows, std::int64_t n_background) {
  std::mt19937 random(seed);
  Asking asking{.game = {.trees = {.n_cols = n_columns, .n_outputs = static_cast<std::int32_t>(1 + seed % 3)}}};
  ShapTrees& trees = asking.game.trees;
  for (int t = 0; t < 3; ++t) {
    grow(asking.game, random, t == 0 ? 0 : 9, 100);
    trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
  }
  const auto draw = [&](std::int64_t n) {
    std::vector<double> cells(static_cast<std::size_t>(n * n_columns));
    for (double& cell : cells) cell = static_cast<double>(random() % 1000) / 1000;
    return cells;
  };
  asking.cells = {
      .n_rows = n_rows, .rows = draw(n_rows), .n_background = n_background, .background = draw(n_background)};
  return asking;
}

std::vector<double> contributions_of(const Asking& asking) {
  return threshold_contributions(asking.game.trees, asking.game.threshold, asking.cells);
}

std::vector<double> row_of(const std::vector<double>& cells, std::int64_t row, std::int64_t n_columns) {
  return {cells.begin() + row * n_columns, cells.begin() + (row + 1) * n_columns};
}

// The mean over the background of the average over all subsets of the other columns, weighted by their sizes.
double shapley(const Asking& asking, std::int64_t row, std::size_t column, std::size_t output) {
  const auto d = asking.game.trees.n_cols;
  const std::vector<double> x = row_of(asking.cells.rows, row, d);
  double sum = 0;
  for (std::int64_t r = 0; r < asking.cells.n_background; ++r) {
    const std::vector<double> against = row_of(asking.cells.background, r, d);
    for (std::uint32_t known = 0; known < 1U << d; ++known) {
      if ((known >> column & 1) != 0) continue;
      std::vector<double> mixed = against;
      for (std::size_t j = 0; j < mixed.size(); ++j)
        if ((known >> j & 1) != 0) mixed[j] = x[j];
      const int size = std::popcount(known);
      const double weight = std::tgamma(size + 1.0) * std::tgamma(static_cast<double>(d) - size) /
                            std::tgamma(static_cast<double>(d) + 1);
      for (std::size_t t = 0; t < 3; ++t) {
        const auto root = static_cast<std::size_t>(asking.game.trees.tree_offset[t]);
        const double without = answer_of(asking.game, root, mixed, output);
        std::vector<double> with = mixed;
        with[column] = x[column];
        sum += weight * (answer_of(asking.game, root, with, output) - without);
      }
    }
  }
  return sum / static_cast<double>(asking.cells.n_background);
}

double mean_answer(const Asking& asking, std::size_t output) {
  double sum = 0;
  for (std::int64_t r = 0; r < asking.cells.n_background; ++r)
    for (std::size_t t = 0; t < 3; ++t)
      sum += answer_of(asking.game, static_cast<std::size_t>(asking.game.trees.tree_offset[t]),
                       row_of(asking.cells.background, r, asking.game.trees.n_cols), output);
  return sum / static_cast<double>(asking.cells.n_background);
}

TEST(BackgroundContributions, AreShapleyValues) {
  constexpr std::int64_t kColumns = 6, kRows = 35;   // more than a block
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Asking asking = random_asking(seed, kColumns, kRows, seed == 0 ? 1 : 34);
    const std::vector<double> found = contributions_of(asking);
    std::size_t place = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(asking.game.trees.n_outputs); ++k) {
        for (std::size_t j = 0; j <= kColumns; ++j, ++place) {
          if (i % 17 != 0) continue;   // the definition is slow
          EXPECT_NEAR(found[place], j < kColumns ? shapley(asking, i, j, k) : mean_answer(asking, k), 1e-13)
              << "seed " << seed << " row " << i << " output " << k << " column " << j;
        }
      }
    }
  }
}

TEST(BackgroundContributions, OfTreesThatAddToOneOutputEach) {
  Asking asking = random_asking(0, 6, 5, 7), each = asking;
  each.game.trees.n_outputs = 2, each.game.trees.tree_output = {1, 0, 1};
  each.game.trees.scale = 0.5, each.game.trees.base = {3, 4};
  const std::vector<double> found = contributions_of(each);
  for (std::size_t i = 0; i < 5; ++i) {
    for (const std::size_t output : {0U, 1U}) {
      double sum = output == 0 ? 3 : 4;
      for (std::size_t t = 0; t < 3; ++t) {
        if (each.game.trees.tree_output[t] != static_cast<std::int32_t>(output)) continue;
        sum += 0.5 * answer_of(asking.game, static_cast<std::size_t>(asking.game.trees.tree_offset[t]),
                               row_of(asking.cells.rows, static_cast<std::int64_t>(i), 6), 0);
      }
      const auto begin = found.begin() + static_cast<std::ptrdiff_t>(i * 14 + output * 7);
      EXPECT_NEAR(std::accumulate(begin, begin + 7, 0.0), sum, 1e-13);
    }
  }
}

// Whatever rows are asked together, and on any number of threads.
TEST(BackgroundContributions, HaveTheSameBits) {
  constexpr std::int64_t kColumns = 8, kRows = 100;
  const Asking asking = random_asking(4, kColumns, kRows, 50);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<double> alone = contributions_of(asking);
  omp_set_num_threads(2);
  EXPECT_EQ(contributions_of(asking), alone);
  omp_set_num_threads(before);
  Asking one = asking;
  one.cells.n_rows = 1, one.cells.rows = row_of(asking.cells.rows, 77, kColumns);
  const std::vector<double> row = contributions_of(one);
  EXPECT_TRUE(std::ranges::equal(row, std::span(alone).subspan(77 * row.size(), row.size())));
}

// A path of cuts by as many columns, each with a leaf at its left.
ShapTrees long_path(std::int32_t n_columns, std::int32_t depth) {
  ShapTrees trees{.n_cols = n_columns};
  for (std::int32_t i = 0; i < depth; ++i) {
    trees.feature.insert(trees.feature.end(), {i % n_columns, -1}), trees.left.insert(trees.left.end(), {2 * i + 1, 0});
    trees.right.insert(trees.right.end(), {2 * i + 2, 0}), trees.cover.insert(trees.cover.end(), {2.0, 1.0});
    trees.value.insert(trees.value.end(), {0.0, i % 7 - 3.0});
  }
  trees.feature.push_back(-1), trees.left.push_back(0), trees.right.push_back(0), trees.cover.push_back(1),
      trees.value.push_back(50);
  trees.tree_offset.push_back(static_cast<std::int64_t>(trees.feature.size()));
  return trees;
}

std::vector<double> of_long_path(std::int32_t n_columns, std::int32_t depth) {
  const ShapTrees trees = long_path(n_columns, depth);
  const auto n = static_cast<std::size_t>(n_columns);
  return threshold_contributions(
      trees, std::vector<double>(trees.feature.size(), 0.5),
      {.n_rows = 1, .rows = std::vector<double>(n, 1.0), .n_background = 1, .background = std::vector<double>(n, 0.0)});
}

std::string refusal_of(const std::function<void()>& action, const std::string& where) {
  try {
    action();
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, where);
    return error.message;
  }
  return "it is not refused";
}

TEST(BackgroundContributions, AreOfPathsOf64Columns) {
  const std::vector<double> found = of_long_path(64, 64);
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 50, 1e-11);
  EXPECT_EQ(found.back(), -3);   // the leaf of the background row
  EXPECT_EQ(refusal_of([] { of_long_path(65, 65); }, "background"),
            "contributions against a background are of trees of at most 64 different columns on a path, this model has "
            "more");
  EXPECT_EQ(refusal_of([] { of_long_path(1, 1025); }, "background"),
            "contributions against a background are of trees of at most 1024 levels, this model has more");
}

TEST(BackgroundContributions, OfATreeWithALoopAreRefused) {
  ShapTrees trees = long_path(2, 3);
  trees.left[2] = 0;
  EXPECT_EQ(refusal_of(
                [&] {
                  threshold_contributions(trees, std::vector<double>(trees.feature.size(), 0.5),
                                          {.n_rows = 1, .rows = {0, 1}, .n_background = 1, .background = {1, 0}});
                },
                ""),
            "model: a node of a tree has two parents");
}

// --- models ---

std::unique_ptr<StoredModel> model_of(const Context& ctx, const char* dataset, const char* step,
                                      const std::filesystem::path& folder) {
  const std::string job = fmt::format(
      R"({{"dataset": {{"builtin": "{}"}}, "pipeline": [{{"estimator": "StandardScaler"}}, {}], "task": {{"fit": {{}}}}}})",
      dataset, step);
  return fitted(ctx, schema::from_json<schema::JobSpec>(job), folder);
}

struct Asked {
  const char *dataset, *step, *output;
};

// And the expected answer is the mean of those to the background.
TEST(BackgroundContributions, AddUpToTheAnswer) {
  const Asked cases[] = {
      {"iris", R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 10}})", "predict_proba"},
      {"breast_cancer", R"({"estimator": "ExtraTreesClassifier", "params": {"n_estimators": 10}})", "predict_proba"},
      {"diabetes", R"({"estimator": "DecisionTreeRegressor"})", "predict"},
      {"iris", R"({"estimator": "GradientBoostingClassifier", "params": {"n_estimators": 10}})", "decision_function"},
      {"iris", R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 10}})", "decision_function"},
      {"diabetes", R"({"estimator": "HistGradientBoostingRegressor"})", "predict"},
      {"iris", R"({"estimator": "LogisticRegression"})", "decision_function"},
      {"diabetes", R"({"estimator": "Ridge"})", "predict"}};
  for (const Asked& c : cases) {
    const TemporaryFolder folder;
    const Context ctx{.device = cpu()};
    const auto model = model_of(ctx, c.dataset, c.step, folder.path());
    const DatasetRows data(model->info(), builtin(c.dataset), 100);
    ModelRows rows = data.rows(0, 40);
    const ModelRows background = data.rows(60, 33);
    const ModelAnswer answer = model->answer(ctx, rows, c.output), means = model->answer(ctx, background, c.output);
    rows.background = std::make_shared<const ModelRows>(background);
    const ModelAnswer parts = answer_rows(ctx, *model, rows, "contributions");
    const std::size_t width = rows.features.size() + 1, n_outputs = answer.numbers.size() / 40;
    ASSERT_EQ(parts.numbers.size(), answer.numbers.size() * width) << c.step;
    for (std::size_t i = 0; i < answer.numbers.size(); ++i) {
      const auto begin = parts.numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
      const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(width), 0.0);
      EXPECT_NEAR(sum, answer.numbers[i], 1e-11 * std::max(1.0, std::abs(sum))) << c.step << " answer " << i;
      double mean = 0;
      for (std::size_t r = i % n_outputs; r < means.numbers.size(); r += n_outputs) mean += means.numbers[r] / 33;
      EXPECT_NEAR(begin[static_cast<std::ptrdiff_t>(width) - 1], mean, 1e-11 * std::max(1.0, std::abs(mean)))
          << c.step << " answer " << i;
    }
  }
}

// A body with two flowers and this background.
std::string body_of(const std::string& background) {
  return R"({"rows": [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6, 2.5]], "background": )" + background + "}";
}

TEST(BackgroundContributions, TakeABackgroundInEachForm) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = model_of(ctx, "iris", R"({"estimator": "DecisionTreeClassifier"})", folder.path());
  const std::vector<schema::ModelColumn>& columns = model->info().columns;
  const ModelRows lists = rows_of_body(model->info(), "application/json", body_of("[[6, 3, 5, 2], [5, 3, 1, 0]]"));
  const ModelRows objects = rows_of_body(
      model->info(), "application/json",
      body_of(fmt::format(R"([{{"{}": 2, "{}": 6, "{}": 3, "{}": 5}}, {{"{}": 0, "{}": 5, "{}": 3, "{}": 1}}])",
                          columns[3].name, columns[0].name, columns[1].name, columns[2].name, columns[3].name,
                          columns[0].name, columns[1].name, columns[2].name)));
  const std::string names =
      fmt::format("{},{},{},{}", columns[3].name, columns[0].name, columns[1].name, columns[2].name);
  const ModelRows csv =
      rows_of_body(model->info(), "application/json", body_of(fmt::format(R"("{}\n2,6,3,5\n0,5,3,1\n")", names)));
  const ModelRows object = rows_of_body(
      model->info(), "application/json",
      body_of(fmt::format(
          R"({{"columns": ["{}"], "rows": [[2, 6, 3, 5], [0, 5, 3, 1]]}})",
          fmt::join(std::vector{columns[3].name, columns[0].name, columns[1].name, columns[2].name}, R"(", ")"))));
  EXPECT_EQ(csv.background->values, lists.background->values);
  EXPECT_EQ(object.background->values, lists.background->values);
  ASSERT_EQ(lists.background->n_rows, 2);
  EXPECT_EQ(lists.background->values, objects.background->values);
  EXPECT_EQ(answer_rows(ctx, *model, lists, "contributions").numbers,
            answer_rows(ctx, *model, objects, "contributions").numbers);
}

TEST(BackgroundContributions, RefuseABackgroundThatDoesNotFit) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = model_of(ctx, "iris", R"({"estimator": "RandomForestClassifier"})", folder.path());
  const std::vector<schema::ModelColumn>& columns = model->info().columns;
  const auto said_of = [&](const std::string& background, std::string_view output = "contributions") {
    return refusal_of(
        [&] { answer_rows(ctx, *model, rows_of_body(model->info(), "application/json", body_of(background)), output); },
        "background");
  };
  EXPECT_EQ(said_of("[]"), "background has 0 rows, must have 1 to 1000");
  std::string many = "[[6, 3, 5, 2]";
  for (int i = 0; i < 1000; ++i) many += ", [6, 3, 5, 2]";
  EXPECT_EQ(said_of(many + "]"), "background has 1001 rows, must have 1 to 1000");
  EXPECT_THAT(said_of("[[6, 3, 5]]"), testing::StartsWith("background: "));
  EXPECT_THAT(said_of(R"([{"petal": 1}])"), testing::StartsWith("background: "));
  EXPECT_THAT(said_of(R"([[6, 3, 5, "wide"]])"), testing::StartsWith("background: "));
  EXPECT_THAT(said_of("[[6, 3, null, 2]]"),
              testing::AllOf(testing::StartsWith("background: "), testing::HasSubstr("missing")));
  EXPECT_EQ(said_of("[[6, 3, 5, 2]]", "predict"),
            "background is given with the output 'predict', must be given with 'contributions' alone");
  EXPECT_THAT(said_of("3"), testing::HasSubstr("background is no list"));
  EXPECT_THAT(said_of(R"("a,b\n1,2\n")"), testing::StartsWith("background: "));
  EXPECT_THAT(said_of(R"("")"), testing::HasSubstr("must have a header line"));
  EXPECT_THAT(said_of(R"({"rows": []})"), testing::HasSubstr("it has no rows"));
  EXPECT_THAT(said_of(R"({"background": [[6, 3, 5, 2]]})"), testing::HasSubstr("known are columns and rows"));
  std::string lines = fmt::format("{},{},{},{}\\n", columns[0].name, columns[1].name, columns[2].name, columns[3].name);
  for (int i = 0; i <= 1000; ++i) lines += "6,3,5,2\\n";
  EXPECT_EQ(said_of('"' + lines + '"'), "background has 1001 rows, must have 1 to 1000");
}

// Missing cells where the model takes them.
TEST(BackgroundContributions, TakeMissingCells) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  const auto model = model_of(ctx, "iris", R"({"estimator": "HistGradientBoostingClassifier"})", folder.path());
  const ModelRows rows = rows_of_body(model->info(), "application/json", body_of("[[6, 3, null, 2], [5, 3, 1, null]]"));
  const ModelAnswer parts = answer_rows(ctx, *model, rows, "contributions");
  const ModelAnswer answer = model->answer(ctx, rows, "decision_function");
  for (std::size_t i = 0; i < answer.numbers.size(); ++i) {
    const auto begin = parts.numbers.begin() + static_cast<std::ptrdiff_t>(i * 5);
    EXPECT_NEAR(std::accumulate(begin, begin + 5, 0.0), answer.numbers[i], 1e-11);
  }
}

}   // namespace
}   // namespace kedge::engine
