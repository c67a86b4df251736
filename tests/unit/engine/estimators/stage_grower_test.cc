// Trees of exact boosting: coded columns give what listed ones give, at any number of threads.
#include "engine/estimators/boosting/stage_grower.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <ostream>

#include "engine/backend/host/step_team.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kCols = 5;

// Columns of few values, and whole numbers as targets, so that sums have no rounding.
struct Rows {
  std::vector<float> values;
  std::vector<double> y, weights;
  std::int64_t n() const { return std::ssize(y); }
};

Rows rows_of(std::int64_t n, std::int64_t n_values, bool has_weights) {
  Rows rows;
  PhiloxStream random(4, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t col = 0; col < kCols; ++col) {
      const double most = col == 2 ? 1 : static_cast<double>(n_values);   // that column is constant
      rows.values.push_back(static_cast<float>(std::floor(most * random.uniform()) * 0.25));
    }
    rows.y.push_back(std::floor(40 * random.uniform() + 8 * rows.values[rows.values.size() - 1]));
    rows.weights.push_back(has_weights ? std::floor(4 * random.uniform()) : 1);   // 0: left out
  }
  return rows;
}

// With rows of weight 0 that have many values: no tree sees them, and no column can be coded.
Rows with_many_values(Rows rows) {
  const std::int64_t n = rows.n();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t col = 0; col < kCols; ++col) rows.values.push_back(1000 + static_cast<float>(i));
    rows.y.push_back(0), rows.weights.push_back(0);
  }
  return rows;
}

void expect_same(const Forest& a, const Forest& b) {
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.right, b.right);
  EXPECT_EQ(a.n_rows, b.n_rows);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.impurity, b.impurity);
}

struct Shape {
  const char* name;
  StageRules rules;
  bool has_weights = false;
  std::int64_t n_values = 17;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

class CodedColumns : public ::testing::TestWithParam<Shape> {};

TEST_P(CodedColumns, GiveTheTreesOfListedOnes) {
  const Shape& shape = GetParam();
  const Rows few = rows_of(600, shape.n_values, shape.has_weights), many = with_many_values(few);
  const StageColumns coded(few.values, few.n(), kCols, nullptr), listed(many.values, many.n(), kCols, nullptr);
  ASSERT_EQ(coded.n_coded, kCols);
  ASSERT_EQ(listed.n_listed, kCols);
  StageGrower by_codes(coded, nullptr), by_lists(listed, nullptr);
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const Forest tree = by_codes.grow(few.y, few.weights, shape.rules, seed);
    EXPECT_GT(tree.n_nodes(), 3);
    expect_same(tree, by_lists.grow(many.y, many.weights, shape.rules, seed));
  }
}

TEST_P(CodedColumns, GiveTheSameTreeWithATeam) {
  const Shape& shape = GetParam();
  const Rows rows = rows_of(30'000, shape.n_values, shape.has_weights);
  const StageColumns columns(rows.values, rows.n(), kCols, nullptr);
  StageGrower alone(columns, nullptr);
  const Forest tree = alone.grow(rows.y, rows.weights, shape.rules, 9);
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  with_step_team([&](StepTeam& team) {
    StageGrower together(columns, &team);
    expect_same(tree, together.grow(rows.y, rows.weights, shape.rules, 9));
  });
  omp_set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    StageGrower, CodedColumns,
    ::testing::Values(
        Shape{"Shallow", {.max_features = kCols}}, Shape{"Weighted", {.max_features = kCols}, true},
        Shape{"Deep", {.max_depth = 30, .max_features = kCols}},   // nodes of fewer rows than values
        Shape{"DeepWeighted", {.max_depth = 30, .min_samples_leaf = 3, .max_features = 2, .min_weight_leaf = 7}, true},
        Shape{"SomeColumns", {.max_depth = 8, .min_samples_split = 20, .min_samples_leaf = 9, .max_features = 2}},
        Shape{"BestFirst",
              {.max_depth = 30, .max_features = kCols, .max_leaf_nodes = 12, .min_impurity_decrease = 0.01}},
        Shape{"ManyValues", {.max_depth = 5, .max_features = kCols}, false, 70}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(StageColumns, CodeColumnsOfFewValuesThatLieApart) {
  constexpr std::int64_t kRows = 80;
  std::vector<float> values;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto at = static_cast<float>(i % 10), close = static_cast<float>(i % 2) * 1e-8F;
    values.insert(values.end(), {at, static_cast<float>(i % 11), close, 7, -at});
  }
  const StageColumns columns(values, kRows, kCols, nullptr);
  EXPECT_EQ(columns.coded, (std::vector<std::int32_t>{0, -1, -1, 1, 2}));   // 11 values are more than 1 for 8 rows
  EXPECT_EQ(columns.listed, (std::vector<std::int32_t>{-1, 0, 1, -1, -1}));
  EXPECT_EQ(columns.first, (std::vector<std::int64_t>{0, 10, 11, 21}));
  EXPECT_EQ(columns.codes_of(3)[0], 3);
  EXPECT_EQ(columns.codes_of(3)[2], 6);
  EXPECT_EQ(columns.value_of(2, 6), -3);
  ASSERT_EQ(std::ssize(columns.sorted), 2 * kRows);
  EXPECT_EQ(columns.sorted[0].row, 0u);
  EXPECT_EQ(columns.sorted[1].row, 11u);
}

TEST(StageColumns, CodeAtMost256Values) {
  for (const std::int64_t n_values : {256, 257}) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 4096; ++i) values.push_back(static_cast<float>(i % n_values));
    EXPECT_EQ(StageColumns(values, 4096, 1, nullptr).n_coded, n_values == 256 ? 1 : 0) << n_values;
  }
}

}   // namespace
}   // namespace kedge::engine
