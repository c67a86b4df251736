// The CPU's tree operations: thread counts, the best split against brute force, edge cases, cancellation.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/backend/cpu/trees/trees.h"
#include "engine/backend/cpu/trees/trees_grow.h"
#include "schemas/error.h"
#include "tests/unit/forest/forest_check.h"

namespace kedge::engine::test {
namespace {

class EveryCase : public testing::TestWithParam<Case> {};

TEST_P(EveryCase, IsTheSameForestAtAnyNumberOfThreads) {
  HostMemory memory;
  const Grown one = run_case(*make_cpu_trees(memory, 1), memory, GetParam());
  EXPECT_GT(one.forest.n_nodes(), GetParam().options.n_trees);   // something was split
  expect_same(one, run_case(*make_cpu_trees(memory, 2), memory, GetParam()));
  expect_same(one, run_case(*make_cpu_trees(memory, 8), memory, GetParam()));
}

TEST_P(EveryCase, PredictsTheSameFromBytesAndFromValues) {
  if (GetParam().every_other_row) GTEST_SKIP() << "the two predictions cover different rows";
  HostMemory memory;
  const Grown grown = run_case(*make_cpu_trees(memory, 2), memory, GetParam());
  EXPECT_EQ(grown.proba, grown.proba_of_values);
}

TEST_P(EveryCase, CountsTheDifferentRowsOfEachNode) {
  HostMemory memory;
  const Case& c = GetParam();
  const Forest forest = run_case(*make_cpu_trees(memory, 2), memory, c).forest;
  ASSERT_EQ(std::ssize(forest.n_rows), forest.n_nodes());
  for (std::int64_t i = 0; i < forest.n_nodes(); ++i) {
    if (forest.feature[i] >= 0)
      ASSERT_EQ(forest.n_rows[i], forest.n_rows[forest.left[i]] + forest.n_rows[forest.right[i]]) << "node " << i;
    else ASSERT_GE(forest.n_rows[i], 1) << "node " << i;
  }
  const std::int64_t n = c.every_other_row ? (c.data.rows + 1) / 2 : c.data.rows;
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    const std::int64_t root = forest.n_rows[forest.tree_offset[t]];
    if (c.options.bootstrap && c.options.n_draws == 0) EXPECT_LT(root, n) << "rows are drawn more than once";
    else EXPECT_LE(root, n) << "rows without weight do not count";
  }
}

INSTANTIATE_TEST_SUITE_P(CpuHost, EveryCase, testing::ValuesIn(host_cases(4)), [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Cpu, EveryCase, testing::ValuesIn(forest_cases(4)), [](const auto& info) { return info.param.name; });

// Weighted impurity of a set of rows, from its definition.
double impurity_sum(const Case& c, const std::vector<double>& by_class) {
  double total = 0, sum = 0;
  for (const double w : by_class) total += w;
  for (const double w : by_class) {
    if (w > 0) sum += c.options.criterion == Criterion::kGini ? w / total * (1 - w / total) : -w / total * std::log2(w / total);
  }
  return total * sum;
}

// Walks the rows of tree 0 down to each inner node and checks that no cut of any column is better than the one it has.
void expect_best_cuts(const Case& c) {
  HostMemory memory;
  const Grown grown = run_case(*make_cpu_trees(memory, 1), memory, c);
  std::vector<std::uint32_t> drawn;
  draw_rows(c.options, TreeSeeds(c.options, 0, 1), 0, c.data.rows, drawn);
  const Forest& f = grown.forest;
  std::map<std::int32_t, std::vector<std::int32_t>> rows_of;
  for (std::int32_t i = 0; i < c.data.rows; ++i)
    if (drawn[i] > 0) rows_of[0].push_back(i);
  constexpr double kRounding = 1e-9;   // sums of a few hundred terms near 1
  int checked = 0;
  for (std::int32_t node = 0; node < f.tree_offset[1]; ++node) {
    if (f.feature[node] < 0) continue;
    const auto x = [&](std::int32_t i, std::int32_t col) { return static_cast<double>(c.data.X[i * c.data.cols + col]); };
    const auto cost = [&](std::int32_t col, double threshold) {
      std::vector<double> left(c.data.n_classes), right(c.data.n_classes);
      for (const std::int32_t i : rows_of[node])
        (x(i, col) <= threshold ? left : right)[c.data.y[i]] += drawn[i] * (c.options.class_weight.empty() ? 1 : c.options.class_weight[c.data.y[i]]);
      return impurity_sum(c, left) + impurity_sum(c, right);
    };
    const double chosen = cost(f.feature[node], f.threshold[node]);
    for (std::int32_t col = 0; col < c.data.cols; ++col)
      for (const std::int32_t i : rows_of[node]) EXPECT_GE(cost(col, x(i, col)), chosen - kRounding) << "node " << node << " column " << col;
    for (const std::int32_t i : rows_of[node])
      rows_of[x(i, f.feature[node]) <= f.threshold[node] ? f.left[node] : f.right[node]].push_back(i);
    ++checked;
  }
  EXPECT_GT(checked, 3);
}

TEST(CpuForest, TakesTheBestCutOfAllColumnsWhenItLooksAtAll) {
  const ForestOptions gini{.n_trees = 1, .max_features = 5, .seed = 3};
  ForestOptions entropy = gini, weighted = gini, no_bootstrap = gini;
  entropy.criterion = Criterion::kEntropy, weighted.class_weight = {1, 2.5, 0.25}, no_bootstrap.bootstrap = false;
  for (const double zeros : {0.0, 0.4, 0.8}) {
    const Data data = make_data(120, 5, 30, 3, zeros, 11);
    for (const ForestOptions& options : {gini, entropy, weighted, no_bootstrap}) expect_best_cuts({"", data, options});
  }
}

Grown grow_small(const Data& data, ForestOptions options = {.n_trees = 3, .seed = 1}) {
  HostMemory memory;
  return run_case(*make_cpu_trees(memory, 2), memory, {"", data, options});
}

TEST(CpuForest, PredictsNothingForATableWithoutRows) {
  const Data data{4, 1, 2, {1, 2, 3, 4}, {0, 0, 1, 1}};
  const Grown grown = grow_small(data);
  HostMemory memory;
  const auto trees = make_cpu_trees(memory, 2);
  const BinnedTable none = trees->bin(MatrixView<const float>(data.X.data(), 0, 1));
  std::vector<double> proba{7.0};
  trees->prepare(grown.forest)->predict(none, {}, {proba.data(), 0, 2});
  EXPECT_EQ(proba[0], 7.0);
}

// Weights of 1 change no number, but the code that knows them is the portable one.
TEST(CpuForest, GrowsLargeNodesAsThePortableCodeDoes) {
  for (const double zeros : {0.8, 0.3}) {
    const Data data = make_data(15000, 24, 200, 5, zeros, 21);
    ForestOptions options{.n_trees = 3, .max_features = 5, .seed = 3};
    const Grown fast = grow_small(data, options);
    options.class_weight = {1, 1, 1, 1, 1};
    expect_same(fast, grow_small(data, options));
  }
}

// Records of more than 256 codes, more columns than a record's registers hold, all 16 classes, several groups of columns, best first.
TEST(CpuForest, GrowsEveryShapeOfNodeAsThePortableCodeDoes) {
  struct Shape {
    std::int64_t rows, cols;
    std::int32_t n_classes, max_features;
    double zeros;
    std::int64_t max_leaf_nodes;
  };
  for (const Shape& shape : {Shape{1500, 700, 4, 26, 0.55, 0}, Shape{700, 1100, 5, 33, 0.9, 0}, Shape{6000, 40, 16, 40, 0.8, 200},
                             Shape{3000, 70, 16, 70, 0.2, 0}, Shape{2000, 90, 2, 1, 0.995, 0}}) {
    const Data data = make_data(shape.rows, shape.cols, 200, shape.n_classes, shape.zeros, 5);
    ForestOptions options{.n_trees = 2, .max_features = shape.max_features, .max_leaf_nodes = shape.max_leaf_nodes, .seed = 9};
    const Grown fast = grow_small(data, options);
    EXPECT_GT(fast.forest.n_nodes(), 100);
    options.class_weight.assign(static_cast<std::size_t>(shape.n_classes), 1.0);
    expect_same(fast, grow_small(data, options));
  }
}

TEST(CpuForest, MakesOneLeafOfOneRow) {
  const Grown grown = grow_small({1, 2, 2, {1, 2}, {1}});
  EXPECT_EQ(grown.forest.n_nodes(), 3);
  EXPECT_EQ(grown.proba, (std::vector<double>{0, 1}));
}

TEST(CpuForest, MakesOneLeafOfConstantColumns) {
  const Grown grown = grow_small({4, 2, 2, {1, 2, 1, 2, 1, 2, 1, 2}, {0, 1, 1, 0}}, {.n_trees = 1, .bootstrap = false});
  EXPECT_EQ(grown.forest.n_nodes(), 1);
  EXPECT_EQ(grown.proba[0], 0.5);
}

TEST(CpuForest, MakesOneLeafOfOneClass) {
  const Grown grown = grow_small({3, 1, 1, {1, 2, 3}, {0, 0, 0}}, {.n_trees = 1, .bootstrap = false});
  EXPECT_EQ(grown.forest.n_nodes(), 1);
}

TEST(CpuForest, LooksPastConstantColumnsForOneThatVaries) {
  Data data{40, 30, 2, std::vector<float>(1200, 5.0F), {}};
  for (std::int32_t i = 0; i < 40; ++i) data.X[i * 30 + 17] = static_cast<float>(i), data.y.push_back(i >= 13);
  const Grown grown = grow_small(data, {.n_trees = 1, .max_features = 1, .bootstrap = false});
  ASSERT_EQ(grown.forest.n_nodes(), 3);
  EXPECT_EQ(grown.forest.feature[0], 17);
  EXPECT_EQ(grown.forest.threshold[0], 12.5);
}

TEST(CpuForest, KeepsColumnsOf256ValuesExactAndCutsLongerOnesInto256Bins) {
  Data data{1000, 2, 2, {}, std::vector<std::int32_t>(1000)};
  for (int i = 0; i < 1000; ++i) data.X.push_back(static_cast<float>(i % 256)), data.X.push_back(static_cast<float>(i * i));
  const Grown grown = grow_small(data);
  EXPECT_EQ(grown.edges.count(0), 256);
  EXPECT_EQ(grown.edges.count(1), 256);
  EXPECT_TRUE(std::equal(grown.edges.low.begin(), grown.edges.low.begin() + 256, grown.edges.high.begin()));
  EXPECT_EQ(grown.edges.high[511], 999.0F * 999.0F);
}

TEST(CpuForest, RefusesNanAndNamesTheCell) {
  HostMemory memory;
  std::vector<float> X(600, 1.0F);
  X[455] = NAN;
  try {
    make_cpu_trees(memory, 2)->bin(MatrixView<const float>(X.data(), 200, 3));
    FAIL() << "NaN was binned";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    EXPECT_THAT(error.message, testing::HasSubstr("row 151, column 2"));
  }
}

TEST(CpuForest, StopsWhenAsked) {
  HostMemory memory;
  const auto ops = make_cpu_trees(memory, 2);
  const Data data = make_data(300, 5, 50, 3, 0.2, 5);
  const BinnedTable table = ops->bin(data.view());
  std::stop_source stop;
  std::int64_t seen = 0;
  const auto progress = [&](std::int64_t done, std::int64_t) {
    seen = done;
    if (done >= 3) stop.request_stop();
  };
  const auto grow = [&] {
    const TreeTarget target{.n_classes = 3, .codes = {data.y.data(), data.rows}};
    ops->grow(table, {}, target, {.n_trees = 1 << 20, .seed = 1}, stop.get_token(), progress);
  };
  EXPECT_THROW(grow(), schema::Error);
  EXPECT_LT(seen, 1000);
}

}  // namespace
}  // namespace kedge::engine::test
