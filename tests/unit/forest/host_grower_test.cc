// Trees of values and weighted trees on the CPU: the best cut against brute force, ranks against bins, weights as repetition.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "engine/backend/cpu/trees/trees.h"
#include "tests/unit/forest/forest_check.h"

namespace kedge::engine::test {
namespace {

constexpr double kRounding = 1e-9;   // of sums of a few hundred terms near 1

std::vector<double> noisy_values(const Data& data) {
  PhiloxStream random(3, 9);
  std::vector<double> values;
  for (std::int64_t i = 0; i < data.rows; ++i) values.push_back(std::sin(data.X[i * data.cols]) + 0.1 * random.uniform());
  return values;
}

Forest exact_tree(const Data& data, const TreeTarget& target, const ForestOptions& options) {
  HostMemory memory;
  return make_cpu_trees(memory, 2)->grow_exact(data.view(), target, options, {});
}

ForestOptions single(Criterion criterion, std::int64_t n_cols) {
  return {.n_trees = 1, .criterion = criterion, .max_features = static_cast<std::int32_t>(n_cols), .bootstrap = false, .seed = 1};
}

// Least sum of errors about a centre that any cut of any column leaves.
template <class Errors>
double least_error(const Data& data, const std::vector<double>& values, const Errors& errors) {
  double least = 1e300;
  for (std::int64_t col = 0; col < data.cols; ++col) {
    for (std::int64_t cut = 0; cut < data.rows; ++cut) {
      std::vector<double> left, right;
      for (std::int64_t i = 0; i < data.rows; ++i)
        (data.X[i * data.cols + col] <= data.X[cut * data.cols + col] ? left : right).push_back(values[i]);
      if (!right.empty()) least = std::min(least, errors(left) + errors(right));
    }
  }
  return least;
}

double squared_errors(const std::vector<double>& values) {
  double mean = 0, sum = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

double absolute_errors(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double v : values) sum += std::abs(v - values[values.size() / 2]);
  return sum;
}

TEST(HostGrower, TakesTheCutThatLeavesTheLeastError) {
  const Data data = make_data(150, 4, 5000, 2, 0.0, 13);
  const std::vector<double> values = noisy_values(data);
  for (const Criterion criterion : {Criterion::kSquaredError, Criterion::kAbsoluteError}) {
    ForestOptions options = single(criterion, data.cols);
    options.max_depth = 1;
    const Forest tree = exact_tree(data, {.values = values}, options);
    ASSERT_EQ(tree.n_nodes(), 3);
    const double left = tree.weight[1] * tree.impurity[1] + tree.weight[2] * tree.impurity[2];
    const double least = criterion == Criterion::kSquaredError ? least_error(data, values, squared_errors)
                                                               : least_error(data, values, absolute_errors);
    EXPECT_NEAR(left, least, kRounding);
  }
}

TEST(HostGrower, KnowsEveryRowOfATreeThatIsGrownToTheEnd) {
  const Data data = make_data(700, 3, 1000000, 2, 0.0, 17);
  const std::vector<double> values = noisy_values(data);
  HostMemory memory;
  const auto ops = make_cpu_trees(memory, 2);
  for (const Criterion criterion : {Criterion::kSquaredError, Criterion::kAbsoluteError, Criterion::kPoisson}) {
    std::vector<double> target = values, found(700);
    for (double& v : target) v += criterion == Criterion::kPoisson ? 2 : 0;
    const Forest tree = ops->grow_exact(data.view(), {.values = target}, single(criterion, data.cols), {});
    ops->prepare(tree)->predict(data.view(), {found.data(), 700, 1});
    EXPECT_EQ(found, target);
  }
}

TEST(HostGrower, CutsTwoRowsAtRandomInEveryColumnInWhichTheyDiffer) {
  const std::vector<double> X = {1, 0, 5, 2, 7, 1, 4, 5, 6, 7}, values = {0, 1};   // columns 1 and 3 differ
  HostMemory memory;
  const auto ops = make_cpu_trees(memory, 2);
  ForestOptions options = single(Criterion::kSquaredError, 5);
  options.n_trees = 40, options.splitter = Splitter::kRandom;
  const BinnedTable table = ops->bin(MatrixView<const double>{X.data(), 2, 5});
  const Forest forest = ops->grow(table, {}, {.values = values}, options, {}, {});
  ASSERT_EQ(forest.n_nodes(), 3 * 40);
  std::array<int, 5> cuts{};
  for (std::int64_t root = 0; root < forest.n_nodes(); root += 3) {
    const std::int32_t col = forest.feature[root];
    ++cuts[static_cast<std::size_t>(col)];
    EXPECT_GE(forest.threshold[root], X[col]);
    EXPECT_LT(forest.threshold[root], X[5 + col]);
  }
  EXPECT_EQ(cuts[1] + cuts[3], 40);
  EXPECT_GT(cuts[1], 0);
  EXPECT_GT(cuts[3], 0);
}

TEST(HostGrower, FindsTheSameTreeOnRanksAsOnExactBins) {
  const Data data = make_data(400, 6, 60, 3, 0.3, 19);
  const std::vector<double> values = noisy_values(data), weights(400, 1.0);
  HostMemory memory;
  const auto ops = make_cpu_trees(memory, 2);
  const BinnedTable table = ops->bin(data.view());
  const TreeTarget classes{.n_classes = 3, .codes = {data.y.data(), data.rows}, .weights = weights};
  for (const auto& [target, criterion] : {std::pair(TreeTarget{.values = values}, Criterion::kSquaredError), std::pair(classes, Criterion::kGini)}) {
    const ForestOptions options = single(criterion, data.cols);
    const Forest a = ops->grow(table, {}, target, options, {}, {}), b = ops->grow_exact(data.view(), target, options, {});
    EXPECT_GT(a.n_nodes(), 50);
    EXPECT_EQ(a.feature, b.feature);
    EXPECT_EQ(a.threshold, b.threshold);
    EXPECT_EQ(a.mean, b.mean);
    EXPECT_EQ(a.value, b.value);
  }
}

TEST(HostGrower, GrowsTheTreeOfTheClassGrowerWhereEveryRowWeighsOne) {
  const Data data = make_data(500, 8, 40, 4, 0.5, 23);
  const std::vector<double> ones(500, 1.0);
  HostMemory memory;
  const auto ops = make_cpu_trees(memory, 2);
  const BinnedTable table = ops->bin(data.view());
  for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
    ForestOptions options = single(criterion, 3);
    options.bootstrap = true, options.n_trees = 4;
    const TreeTarget plain{.n_classes = 4, .codes = {data.y.data(), data.rows}};
    TreeTarget weighted = plain;
    weighted.weights = ones;
    const Forest a = ops->grow(table, {}, plain, options, {}, {}), b = ops->grow(table, {}, weighted, options, {}, {});
    EXPECT_EQ(a.feature, b.feature);
    EXPECT_EQ(a.threshold, b.threshold);
  }
}

TEST(HostGrower, TakesWholeWeightsAsRepetition) {
  const Data once = make_data(120, 4, 5000, 2, 0.0, 29);
  const std::vector<double> values = noisy_values(once);
  Data repeated{0, once.cols, 2, {}, {}};
  std::vector<double> weights, repeated_values;
  for (std::int64_t i = 0; i < once.rows; ++i) {
    weights.push_back(static_cast<double>(i % 4));
    for (std::int64_t k = 0; k < i % 4; ++k, ++repeated.rows) {
      repeated.X.insert(repeated.X.end(), once.X.begin() + i * once.cols, once.X.begin() + (i + 1) * once.cols);
      repeated_values.push_back(values[i]);
    }
  }
  const ForestOptions options = single(Criterion::kSquaredError, once.cols);
  const Forest a = exact_tree(once, {.values = values, .weights = weights}, options), b = exact_tree(repeated, {.values = repeated_values}, options);
  EXPECT_GT(a.n_nodes(), 50);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.weight, b.weight);
}

}  // namespace
}  // namespace kedge::engine::test
