// The CUDA kernels of boosting, run on the CPU, against the host's own code: the same trees and losses, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/host/booster.h"
#include "engine/backend/ops/boosting.h"
#include "engine/backend/trees_factory.h"
#include "engine/core/rng.h"
#include "schemas/error.h"
#include "tests/support/launch_log.h"

namespace kedge::engine::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kRows = 8500, kFitted = 8300;   // the rest validates

struct BoostCase {
  std::string name;
  BoostLoss loss = BoostLoss::kSquared;
  BoostRules rules = {};
  std::int64_t n_cols = 5;
  std::int32_t n_outputs = 1;
  bool has_weights = false, has_missing = false, has_categories = false, is_noise = false;
  int max_bins = 255;
  friend void PrintTo(const BoostCase& c, std::ostream* out) { *out << c.name; }
};

// Columns of numbers, the second of few values, some missing; categories in columns 2 and 3, of which a few are met by
// the validating rows alone.
struct BoostData {
  explicit BoostData(const BoostCase& c) : cells(static_cast<std::size_t>(kRows * c.n_cols)), is_category(c.n_cols, 0) {
    PhiloxStream random(11, 4);
    categories.resize(static_cast<std::size_t>(c.n_cols));
    for (std::int64_t i = 0; i < kRows; ++i) {
      double* const row = cells.data() + i * c.n_cols;
      for (std::int64_t j = 0; j < c.n_cols; ++j) row[j] = j == 1 ? std::floor(7 * random.uniform()) : random.uniform();
      if (c.has_categories)
        row[2] = std::floor(40 * row[2]), row[3] = i < kFitted && row[3] > 0.9 ? 0 : std::floor(9 * row[3]);
      double value =
          std::sin(7 * row[0]) + 0.3 * row[1] + (c.has_categories ? std::fmod(7 * row[2], 5) : row[2] * row[3]);
      if (c.has_missing && random.below(4) == 0) row[0] = kNan, value += 2;
      if (c.has_missing && c.has_categories && random.below(9) == 0) row[2] = kNan;
      if (c.is_noise) value = 0;
      value += 1.5 + 0.5 * random.uniform();   // above 0
      if (c.loss == BoostLoss::kBinomial) value = value > 3.4 ? 1 : 0;
      if (c.loss == BoostLoss::kMultinomial) value = std::min(c.n_outputs - 1.0, std::floor(0.6 * value));
      y.push_back(value), weights.push_back(0.1 + random.uniform());
      (i < kFitted ? fitted : validation).push_back(static_cast<std::int32_t>(i));
    }
    if (!c.has_categories) return;
    is_category[2] = is_category[3] = 1;
    for (int k = 0; k < 40; ++k) categories[2].push_back(k);
    for (int k = 0; k < 8; ++k) categories[3].push_back(k);
  }
  std::vector<double> cells, y, weights;
  std::vector<std::uint8_t> is_category;
  std::vector<std::vector<double>> categories;
  std::vector<std::int32_t> fitted, validation;
};

void expect_same(const BoostForest& a, const BoostForest& b) {
  EXPECT_EQ(a.tree_offset, b.tree_offset);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.missing_left, b.missing_left);
  EXPECT_EQ(a.set, b.set);
  EXPECT_EQ(a.sets, b.sets);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.gain, b.gain);
  EXPECT_EQ(a.n_rows, b.n_rows);
}

class EmulatedBoost : public testing::TestWithParam<BoostCase> {};

TEST_P(EmulatedBoost, GrowsTheTreesOfTheHost) {
  const BoostCase& c = GetParam();
  const BoostData data(c);
  BoostRules rules = c.rules;
  for (std::int64_t j = 0; j < c.n_cols; ++j) rules.order.push_back(static_cast<std::int32_t>((j + 2) % c.n_cols));
  const MatrixView<const double> X(data.cells.data(), kRows, c.n_cols);
  const BoostTable table =
      boost_table(X, data.fitted, {.max_bins = c.max_bins, .is_category = data.is_category}, data.categories);
  const BoostTable validation = coded_rows(X, data.validation, table.columns);
  const auto target_of = [&](std::size_t first, std::size_t n) {
    return BoostTarget{
        .loss = c.loss,
        .n_outputs = c.n_outputs,
        .y = std::span(data.y).subspan(first, n),
        .weights = c.has_weights ? std::span(data.weights).subspan(first, n) : std::span<const double>()};
  };
  const BoostTarget target = target_of(0, kFitted), left = target_of(kFitted, kRows - kFitted);
  Booster host(table, rules, target);
  std::vector<double> raw;
  for (const double base : host.baseline()) raw.insert(raw.end(), kRows - kFitted, base);

  CudaRuntime runtime({.seed = 9});
  DeviceLibraries libraries(runtime);
  const auto trees = make_cuda_trees(runtime, libraries);
  BoostOps* const ops = boost_ops(*trees);
  ASSERT_TRUE(ops && ops->takes(c.loss, kFitted, c.n_cols, rules));
  const auto run = ops->start({.table = BoostCodes::of(runtime, table),
                               .rules = &rules,
                               .target = target,
                               .baseline = host.baseline(),
                               .validation = BoostCodes::of(runtime, validation),
                               .validation_target = left});
  BoostForest here{.n_cols = c.n_cols, .n_outputs = c.n_outputs}, there = here;
  here.category_offset = {0};
  for (const std::vector<double>& of : data.categories) {
    here.categories.insert(here.categories.end(), of.begin(), of.end());
    here.category_offset.push_back(static_cast<std::int32_t>(here.categories.size()));
  }
  for (int i = 0; i < 2; ++i) {
    host.step(here), run->step(there);
    add_boosted(here, std::int64_t{i} * c.n_outputs, X, data.validation, std::span<double>(raw));
    const BoostLosses losses = run->losses();
    EXPECT_EQ(losses.fitted, host.loss());
    EXPECT_EQ(losses.validation, boost_loss(left, raw));
  }
  run->finish(there);
  expect_same(here, there);
  EXPECT_EQ(here.n_nodes() > 2 * c.n_outputs, c.name != "no_cut");
}

std::vector<BoostCase> boost_cases() {
  const BoostRules wide{.max_leaves = 0, .max_depth = 4}, all{.max_leaves = 0, .min_samples_leaf = 200};
  return {
      {.name = "squared", .rules = {.l2 = 0.5}, .has_missing = true},
      {.name = "squared_weights", .has_weights = true, .has_categories = true},
      {.name = "poisson", .loss = BoostLoss::kPoisson, .rules = wide, .has_weights = true},
      {.name = "gamma", .loss = BoostLoss::kGamma, .rules = {.max_leaves = 4}, .has_missing = true},
      {.name = "binomial", .loss = BoostLoss::kBinomial, .n_cols = 18, .has_weights = true, .has_missing = true},
      {.name = "binomial_categories", .loss = BoostLoss::kBinomial, .has_missing = true, .has_categories = true},
      {.name = "classes", .loss = BoostLoss::kMultinomial, .rules = {.max_leaves = 12}, .n_outputs = 3},
      {.name = "all_leaves", .rules = all, .has_categories = true},
      {.name = "drawn_columns", .rules = {.max_leaves = 9, .max_features = 0.4, .seed = 3}, .has_missing = true},
      {.name = "monotonic", .rules = {.monotonic = {1, -1, 0, 1, 0}}, .has_missing = true},
      {.name = "interactions", .rules = {.interactions = {{0, 1}, {1, 2, 3}, {4}}}},
      {.name = "few_bins", .rules = {.max_leaves = 50, .min_samples_leaf = 1}, .max_bins = 4},
      {.name = "two_leaves", .rules = {.max_leaves = 2}},
      {.name = "no_cut", .rules = {.min_samples_leaf = 5000}},
      {.name = "noise", .rules = {.max_leaves = 60, .min_samples_leaf = 3}, .is_noise = true},
  };
}
INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedBoost, testing::ValuesIn(boost_cases()),
                         [](const auto& info) { return info.param.name; });

// Columns of the kinds that differ: many values, few, max_bins of them and one more, one, none; zeros of both signs,
// infinite and missing values, and neighbours in float that double tells apart.
template <class T>
std::vector<T> columns_of_all_kinds(std::int64_t n, int max_bins) {
  constexpr T kInfinite = std::numeric_limits<T>::infinity(), kMissing = std::numeric_limits<T>::quiet_NaN();
  PhiloxStream random(5, 1);
  std::vector<T> cells;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto u = static_cast<T>(random.uniform() - 0.5);
    cells.insert(cells.end(), {u, std::floor(7 * u), static_cast<T>(i % max_bins), static_cast<T>(i % (max_bins + 1)),
                               T{3}, kMissing,
                               i % 3 == 0   ? T{0}
                               : i % 3 == 1 ? -T{0}
                                            : u,
                               i % 50 == 7   ? kInfinite
                               : i % 50 == 8 ? -kInfinite
                                             : u,
                               random.below(3) == 0 ? kMissing : u, i % 2 == 0 ? T{1} : std::nextafter(T{1}, T{2})});
  }
  return cells;
}

template <class T>
void expect_bins_of_the_host(std::int64_t n, int max_bins, std::span<const std::int32_t> rows,
                             std::span<const std::int32_t> drawn) {
  constexpr std::int64_t kCols = 10;
  const std::vector<T> cells = columns_of_all_kinds<T>(n, max_bins);
  const BoostBinning binning{.max_bins = max_bins, .is_category = {}, .drawn = drawn, .weights = {}};
  const MatrixView<const T> X(cells.data(), n, kCols);
  const BoostTable here = boost_table(X, rows, binning, std::vector<std::vector<double>>(kCols));

  CudaRuntime runtime({.seed = 2});
  DeviceLibraries libraries(runtime);
  const auto trees = make_cuda_trees(runtime, libraries);
  const Array<T> device(runtime, std::span<const T>(cells));
  const MatrixView<const T> device_X(device.data(), n, kCols, kCols);
  const BoostCodes there = boost_ops(*trees)->bin(BoostCells<T>{device_X, rows}, binning);
  EXPECT_EQ(there.n_rows, here.n_rows);
  ASSERT_EQ(there.columns.size(), here.columns.size());
  for (std::size_t j = 0; j < here.columns.size(); ++j) {
    EXPECT_EQ(there.columns[j].edges, here.columns[j].edges) << "column " << j;
    EXPECT_EQ(there.columns[j].has_missing, here.columns[j].has_missing) << "column " << j;
  }
  EXPECT_EQ(there.codes.to_host(), here.codes);
  const BoostCodes again = boost_ops(*trees)->code(BoostCells<T>{device_X, {}}, here.columns);
  EXPECT_EQ(again.codes.to_host(), coded_rows(X, {}, here.columns).codes);
}

TEST(EmulatedBoostBins, AreThoseOfTheHost) {
  constexpr std::int64_t kMany = 9000;   // more than a block codes
  std::vector<std::int32_t> rows, drawn;
  for (std::int32_t i = 0; i < kMany; i += 2) rows.push_back(kMany - 1 - i);
  for (std::int32_t i = 0; i < 3000; ++i) drawn.push_back(i * 7 % static_cast<std::int32_t>(rows.size()));
  for (const int max_bins : {255, 2, 33}) {
    SCOPED_TRACE(max_bins);
    expect_bins_of_the_host<float>(kMany, max_bins, {}, {});
    expect_bins_of_the_host<double>(kMany, max_bins, rows, {});
    expect_bins_of_the_host<float>(kMany, max_bins, rows, drawn);
  }
  expect_bins_of_the_host<double>(1, 255, {}, {});
}

TEST(EmulatedBoostEdges, LeavesToTheHostWhatItDoesNotTake) {
  CudaRuntime runtime({});
  DeviceLibraries libraries(runtime);
  const auto trees = make_cuda_trees(runtime, libraries);
  const BoostOps& ops = *boost_ops(*trees);
  EXPECT_TRUE(ops.takes(BoostLoss::kSquared, 8193, 30, {}));
  EXPECT_FALSE(ops.takes(BoostLoss::kSquared, 8192, 30, {}));
  EXPECT_FALSE(ops.takes(BoostLoss::kAbsolute, 100'000, 30, {}));
  EXPECT_FALSE(ops.takes(BoostLoss::kQuantile, 100'000, 30, {}));
  EXPECT_FALSE(ops.takes(BoostLoss::kSquared, 10'000'000, 100, {.max_leaves = 0, .min_samples_leaf = 1}));
}

TEST(EmulatedBoostEdges, RefusesDerivativesThatAreNotFinite) {
  const BoostCase c{.name = "infinite", .loss = BoostLoss::kPoisson};
  const BoostData data(c);
  const MatrixView<const double> X(data.cells.data(), kRows, c.n_cols);
  const BoostTable table = boost_table(X, {}, {}, data.categories);
  const BoostRules rules{.order = {0, 1, 2, 3, 4}};
  std::vector<double> y = data.y;
  y[77] = std::numeric_limits<double>::infinity();
  CudaRuntime runtime({});
  DeviceLibraries libraries(runtime);
  const auto trees = make_cuda_trees(runtime, libraries);
  const std::vector<double> baseline{0.0};
  const auto run = boost_ops(*trees)->start({.table = BoostCodes::of(runtime, table),
                                             .rules = &rules,
                                             .target = {.loss = c.loss, .y = y, .weights = {}},
                                             .baseline = baseline,
                                             .validation = {},
                                             .validation_target = {}});
  BoostForest forest{.n_cols = c.n_cols};
  try {
    run->step(forest);
    FAIL() << "an infinite gradient";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    EXPECT_THAT(error.message, testing::HasSubstr("the gradients of tree 1 are not finite"));
  }
}

}   // namespace
}   // namespace kedge::engine::test
