// Rows through coded trees: the leaves that a plain walk by values reaches.
#include "engine/backend/host/coded_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/backend/host/boost_forest.h"

namespace kedge::engine {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Trees with children side by side, and with all that a cut may be.
struct Trees {
  std::int64_t n_cols = 0;
  std::vector<std::int64_t> offset{0};
  std::vector<std::int32_t> feature, left;
  std::vector<double> threshold;
  std::vector<std::uint8_t> missing_left;

  TreesView view() const {
    return {.n_cols = n_cols,
            .tree_offset = offset,
            .feature = feature,
            .threshold = threshold,
            .left = left,
            .right = {},
            .missing_left = missing_left};
  }
  std::int64_t leaf_of(std::int64_t tree, const double* row) const {
    auto node = static_cast<std::size_t>(offset[static_cast<std::size_t>(tree)]);
    while (feature[node] >= 0) {
      const double value = row[feature[node]];
      const bool is_left = std::isnan(value) ? missing_left[node] != 0 : value <= threshold[node];
      node = static_cast<std::size_t>(left[node] + (is_left ? 0 : 1));
    }
    return static_cast<std::int64_t>(node);
  }
};

struct Case {
  Trees trees;
  std::vector<double> rows;
  std::int64_t n_rows = 0;
};

Case random_case(std::uint32_t seed, int n_trees, int inner, std::int64_t n_rows, bool has_missing) {
  std::mt19937 random(seed);
  Case made{.n_rows = n_rows};
  Trees& t = made.trees;
  t.n_cols = 1 + random() % 7;
  const auto value = [&] {
    const auto which = random() % 40;
    return which == 0 ? kInf : which == 1 ? -kInf : which == 2 ? -0.0 : static_cast<double>(random() % 50) / 8 - 3;
  };
  for (int tree = 0; tree < n_trees; ++tree) {
    std::vector<std::size_t> open{t.feature.size()};
    const auto add = [&] {
      t.feature.push_back(-1), t.left.push_back(0), t.threshold.push_back(0), t.missing_left.push_back(0);
    };
    add();
    for (int i = 0; i < static_cast<int>(random() % static_cast<unsigned>(inner + 1)); ++i) {
      const std::size_t at = random() % open.size(), node = open[at];
      t.feature[node] = static_cast<std::int32_t>(random() % t.n_cols), t.threshold[node] = value();
      t.missing_left[node] = random() % 2;
      t.left[node] = static_cast<std::int32_t>(t.feature.size());
      open[at] = t.feature.size(), open.push_back(t.feature.size() + 1);
      add(), add();
    }
    t.offset.push_back(static_cast<std::int64_t>(t.feature.size()));
  }
  for (std::int64_t i = 0; i < n_rows * t.n_cols; ++i)
    made.rows.push_back(has_missing && random() % 9 == 0 ? kNan : value());
  return made;
}

// By row and tree. Checks that a row's trees come in order.
std::vector<std::int64_t> leaves(const CodedTrees& coded, const Case& c, std::int64_t first = 0) {
  const std::int64_t n_trees = coded.n_trees();
  std::vector<std::int64_t> reached(static_cast<std::size_t>(c.n_rows * n_trees), -1);
  std::vector<std::int64_t> last(static_cast<std::size_t>(c.n_rows), first - 1);
  coded.walk(
      first, c.n_rows, [&](std::int64_t i) { return c.rows.data() + i * c.trees.n_cols; },
      [&](std::int64_t t, std::int64_t i, std::uint32_t number) {
        EXPECT_EQ(t, ++last[static_cast<std::size_t>(i)]);
        reached[static_cast<std::size_t>(i * n_trees + t)] = number;
      });
  return reached;
}

void expect_plain_leaves(const Case& c, std::int64_t first = 0, std::uint32_t added = 0) {
  const auto coded =
      CodedTrees::pack(c.trees.view(), [&](std::int64_t node) { return static_cast<std::uint32_t>(node) + added; });
  ASSERT_TRUE(coded);
  const std::vector<std::int64_t> reached = leaves(*coded, c, first);
  for (std::int64_t i = 0; i < c.n_rows; ++i)
    for (std::int64_t t = first; t < coded->n_trees(); ++t)
      ASSERT_EQ(reached[static_cast<std::size_t>(i * coded->n_trees() + t)],
                c.trees.leaf_of(t, c.rows.data() + i * c.trees.n_cols) + added)
          << "row " << i << " of " << c.n_rows << ", tree " << t;
}

TEST(CodedTrees, ReachTheLeavesOfAPlainWalk) {
  for (std::uint32_t seed = 0; seed < 60; ++seed)
    for (const std::int64_t n_rows : {1, 2, 15, 16, 17, 200})
      expect_plain_leaves(random_case(seed, static_cast<int>(seed % 40), 60, n_rows, seed % 2 == 0));
}

TEST(CodedTrees, BeginWithAnyTree) {
  for (const std::int64_t n_rows : {3, 40}) expect_plain_leaves(random_case(5, 30, 20, n_rows, true), 7);
}

TEST(CodedTrees, GiveLargeNumbersOfLeaves) {
  for (const std::uint32_t added : {0xfff0U, 1'000'000U})
    expect_plain_leaves(random_case(9, 12, 40, 33, false), 0, added);
}

TEST(CodedTrees, ReadFloatsAsTheyAre) {
  Trees t{.n_cols = 1,
          .offset = {0, 3},
          .feature = {0, -1, -1},
          .left = {1, 0, 0},
          .threshold = {0.1, 0, 0},
          .missing_left = {0, 0, 0}};
  const auto coded = CodedTrees::pack(t.view(), [](std::int64_t node) { return static_cast<std::uint32_t>(node); });
  const float row = 0.1F;   // above 0.1
  coded->walk(
      0, 1, [&](std::int64_t) { return &row; },
      [](std::int64_t, std::int64_t, std::uint32_t number) { EXPECT_EQ(number, 2u); });
}

TEST(CodedTrees, AreNotMadeOfWhatTheyCannotSay) {
  const auto number = [](std::int64_t node) { return static_cast<std::uint32_t>(node); };
  Trees shared{.n_cols = 1,
               .offset = {0, 5},
               .feature = {0, 0, 0, -1, -1},
               .left = {1, 3, 3, 0, 0},
               .threshold = {0, 1, 2, 0, 0},
               .missing_left = {0, 0, 0, 0, 0}};
  EXPECT_FALSE(CodedTrees::pack(shared.view(), number)) << "a node has two parents";
  Trees chain{.n_cols = 1};
  constexpr int kCuts = 65'535;   // of one column: node 2 i cuts at i, its left child is a leaf
  for (int node = 0; node <= 2 * kCuts; ++node) {
    const bool cuts = node % 2 == 0 && node < 2 * kCuts;
    chain.feature.push_back(cuts ? 0 : -1), chain.left.push_back(cuts ? node + 1 : 0);
    chain.threshold.push_back(node / 2), chain.missing_left.push_back(0);
  }
  chain.offset.push_back(2 * kCuts + 1);
  EXPECT_FALSE(CodedTrees::pack(chain.view(), number));
}

// --- boosting: sums of leaves ---

BoostForest boosted(const Trees& t, std::int32_t n_outputs) {
  BoostForest forest{.n_cols = t.n_cols,
                     .n_outputs = n_outputs,
                     .tree_offset = t.offset,
                     .feature = t.feature,
                     .threshold = t.threshold,
                     .left = t.left,
                     .missing_left = t.missing_left};
  forest.set.assign(t.feature.size(), -1);
  for (std::size_t i = 0; i < t.feature.size(); ++i) forest.value.push_back(1.0 / static_cast<double>(3 + i));
  forest.category_offset.assign(static_cast<std::size_t>(t.n_cols) + 1, 0);
  return forest;
}

// X has one column more than the trees read, which is left out.
template <class T>
void expect_sums_of_add_boosted(const Case& c, std::int32_t n_outputs) {
  const BoostForest forest = boosted(c.trees, n_outputs);
  const auto coded = coded_trees(forest);
  ASSERT_TRUE(coded);
  std::vector<T> cells;
  for (std::int64_t i = 0; i < c.n_rows; ++i) {
    for (std::int64_t j = 0; j < c.trees.n_cols; ++j)
      cells.push_back(static_cast<T>(c.rows[static_cast<std::size_t>(i * c.trees.n_cols + j)]));
    cells.push_back(T{1e9F});
  }
  const MatrixView<const T> X(DevicePointer<const T>(cells.data()), c.n_rows, c.trees.n_cols, c.trees.n_cols + 1);
  std::vector<double> plain(static_cast<std::size_t>(c.n_rows * n_outputs), 0.25), packed = plain;
  add_boosted<T>(forest, 0, X, {}, std::span<double>(plain));
  add_coded<T>(*coded, forest, X, std::span<double>(packed));
  ASSERT_EQ(packed, plain);
}

TEST(CodedBoosting, HasTheBitsOfAWalkByValues) {
  for (std::uint32_t seed = 0; seed < 12; ++seed)
    for (const std::int64_t n_rows : {1, 15, 16, 17, 700, 3000})   // alone, groups, blocks, threads
      for (const std::int32_t n_outputs : {1, 3}) {
        const Case c = random_case(seed, 12, 40, n_rows, seed % 2 == 0);
        expect_sums_of_add_boosted<float>(c, n_outputs);
        expect_sums_of_add_boosted<double>(c, n_outputs);
      }
}

TEST(CodedBoosting, IsNotMadeOfSetsOfCategories) {
  BoostForest forest = boosted(random_case(3, 4, 20, 1, false).trees, 1);
  ASSERT_TRUE(coded_trees(forest));
  forest.set[0] = 0;
  EXPECT_FALSE(coded_trees(forest));
}

}   // namespace
}   // namespace kedge::engine
