// Elastic nets on many rows: what a sample of the rows names, and what it misses, against the Gram matrix of all columns.
#include "engine/estimators/linear/elastic_net_tall.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/core/rng.h"
#include "engine/core/uploaded.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/linear/elastic_net_solver.h"
#include "engine/estimators/linear/linear_problem.h"
#include "fixture.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::Data;

constexpr std::int64_t kRows = 32768, kCols = 12, kSampled = 16;   // every sixteenth row is in the sample
constexpr double kSame = 1e-6;                                     // of solutions with gaps of 1e-13: the root of that, and some
constexpr double kTol = 1e-13;

// Columns 0, 3, 6, 9 count, column j in units of j + 1.
Data tall_data(double offset = 0) {
  Data data{.n_rows = kRows, .n_cols = kCols, .classes = {"0"}};
  PhiloxStream random(5, 0);
  for (std::int64_t i = 0; i < kRows; ++i) {
    double y = 7 + 4 * (random.uniform() - 0.5);
    for (std::int64_t j = 0; j < kCols; ++j) {
      const double x = 2 * random.uniform() - 1;
      data.X.push_back(offset + static_cast<double>(j + 1) * x);
      if (j % 3 == 0) y += (j % 2 ? -2 : 3) * x;
    }
    data.values.push_back(y), data.y.push_back(0);
  }
  return data;
}

struct Asked {
  ElasticNetPenalty penalty{0.1, 1.0};
  std::vector<double> weights = {};
  bool fit_intercept = true, positive = false;
  std::string device = "cpu";
};

template <class T = double>
TallSolution solve(const Data& data, const Asked& asked) {
  const Context ctx{.device = testing::device_named(asked.device)};
  const testing::Loaded<T> loaded(ctx.device, data);
  return solve_tall_elastic_net(ctx, "Lasso", loaded.all(), Uploaded<double>(ctx, data.values).matrix(1),
                                Uploaded<double>(ctx, asked.weights).view(), asked.fit_intercept, asked.penalty,
                                {.tol = kTol, .max_iter = 100000, .positive = asked.positive});
}

// The same by the Gram matrix of all columns, centred by exact means.
template <class T = double>
TallSolution solve_by_gram(const Data& data, const Asked& asked) {
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<T> loaded(ctx.device, data);
  const LinearProblem<T> problem(ctx, "Lasso", loaded.all(), data.values, 1, asked.weights, asked.fit_intercept);
  const ElasticNetSolutions found = solve_elastic_nets(ctx, problem, {asked.penalty.alpha}, asked.penalty.l1_ratio,
                                                       {.tol = kTol, .max_iter = 100000, .positive = asked.positive});
  return {found.coef, problem.intercepts(found.coef)[0], found.gap[0], found.n_iter[0]};
}

template <class T = double>
void expect_same(const Data& data, const Asked& asked = {}) {
  const TallSolution found = solve<T>(data, asked), expected = solve_by_gram<T>(data, asked);
  double squares = 0;
  for (const double y : data.values) squares += y * y / static_cast<double>(kRows);
  EXPECT_LE(found.gap, 2 * kTol * squares);
  EXPECT_NEAR(found.intercept, expected.intercept, kSame * (1 + std::abs(expected.intercept)));
  ASSERT_EQ(found.coef.size(), expected.coef.size());
  for (std::size_t j = 0; j < found.coef.size(); ++j) EXPECT_NEAR(found.coef[j], expected.coef[j], kSame) << "column " << j;
}

std::int64_t support(const TallSolution& solution) {
  return std::ranges::count_if(solution.coef, [](double w) { return w != 0; });
}

TEST(TallElasticNet, FindsWhatTheWholeGramMatrixFinds) {
  const Data data = tall_data();
  for (const double alpha : {1.5, 0.3, 0.02, 1e-4}) {   // from one column to all of them
    for (const double ratio : {1.0, 0.5}) expect_same(data, {.penalty = {alpha, ratio}});
  }
  EXPECT_EQ(support(solve(data, {.penalty = {0.3, 1.0}})), 4);
}

TEST(TallElasticNet, FindsItInSinglePrecisionAndOnTheOtherDevice) {
  const Data data = tall_data();
  expect_same<float>(data);
  expect_same(data, {.device = "emulated"});
}

TEST(TallElasticNet, FindsItWithoutAnInterceptAndWithPositiveCoefficients) {
  for (const double offset : {0.0, 2.0}) {
    const Data data = tall_data(offset);
    expect_same(data, {.fit_intercept = false});
    expect_same(data, {.positive = true});
    expect_same(data, {.fit_intercept = false, .positive = true});
  }
}

TEST(TallElasticNet, TakesWeights) {
  const Data data = tall_data();
  std::vector<double> weights;
  for (std::int64_t i = 0; i < kRows; ++i) weights.push_back(static_cast<double>(i % 4) / 1.5);   // 1 in the mean
  expect_same(data, {.weights = weights});
  for (std::int64_t i = 0; i < kRows; ++i)   // none in the sample
    weights[static_cast<std::size_t>(i)] = i % kSampled == 0 ? 0.0 : static_cast<double>(kSampled) / (kSampled - 1);
  expect_same(data, {.weights = weights});
  const std::vector<double> none(static_cast<std::size_t>(kRows), 0.0);
  EXPECT_THROW(solve(data, {.weights = none}), schema::Error);
}

TEST(TallElasticNet, IsAllZeroBeyondTheLargestPenalty) {
  const Data data = tall_data();
  const TallSolution found = solve(data, {.penalty = {100.0, 1.0}});
  EXPECT_EQ(support(found), 0);
  double mean = 0;
  for (const double y : data.values) mean += y / static_cast<double>(kRows);
  EXPECT_NEAR(found.intercept, mean, 1e-12);
}

TEST(TallElasticNet, TakesColumnsThatTheSampleDidNotShow) {   // another pass brings them
  Data data = tall_data();
  for (std::int64_t i = 0; i < kRows; ++i) {
    double& x = data.X[static_cast<std::size_t>(i * kCols + 1)];
    x = i % kSampled == 0 ? 0.0 : x;
    data.values[static_cast<std::size_t>(i)] += 5 * x;
  }
  expect_same(data);
  EXPECT_NE(solve(data, {}).coef[1], 0.0);
}

TEST(TallElasticNet, TakesConstantEqualAndFarOffColumns) {
  Data data = tall_data();
  for (std::int64_t i = 0; i < kRows; ++i) {
    double* const x = data.X.data() + i * kCols;
    x[1] = 0.1, x[2] = 0;                    // constants
    x[4] = x[0];                             // an equal: which of both takes the coefficient is open
    x[5] = 1e6 + x[5];                       // large compared with its spread
    x[7] = i == 20001 ? 1e4 : 0;             // its sample says nothing of its mean
    x[8] = i % kSampled == 0 ? 100 : x[8];   // the mean of its sample is far off
  }
  const TallSolution found = solve(data, {}), expected = solve_by_gram(data, {});
  for (std::size_t j = 0; j < found.coef.size(); ++j) {
    if (j == 0 || j == 4) continue;
    EXPECT_NEAR(found.coef[j], expected.coef[j], kSame) << "column " << j;
  }
  EXPECT_NEAR(found.coef[0] + found.coef[4], expected.coef[0] + expected.coef[4], kSame);
  EXPECT_EQ(found.coef[1], 0.0);
  EXPECT_EQ(found.coef[2], 0.0);
}

TEST(TallElasticNet, IsTheSameForEveryNumberOfThreads) {
  const Data data = tall_data(3);
  const int before = omp_get_max_threads();
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    found.push_back(solve(data, {}).coef);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
}

TEST(TallElasticNet, IsWhatLassoFitsOnManyRows) {
  const Data data = tall_data();
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto lasso = find_estimator("Lasso")->make_f64({{"alpha", 0.3}});
  std::vector<std::int32_t> shuffled;
  for (std::int64_t i = 0; i < kRows; ++i) shuffled.push_back(static_cast<std::int32_t>((i * 7) % kRows));
  for (const bool in_order : {true, false}) {
    lasso->fit(ctx, in_order ? loaded.all() : loaded.rows(shuffled), in_order ? loaded.target() : loaded.target(shuffled));
    const schema::ValueMap attributes = lasso->attributes();
    const auto coef = std::get<std::vector<double>>(attributes[0].second.data);
    const TallSolution exact = solve(data, {.penalty = {0.3, 1.0}});
    for (std::size_t j = 0; j < coef.size(); ++j) EXPECT_NEAR(coef[j], exact.coef[j], 0.02) << "column " << j;   // tol is 1e-4
  }
  EXPECT_FALSE(takes_sample(kRows, kCols, {0.3, 0.0}));
  EXPECT_FALSE(takes_sample(1000, kCols, {0.3, 1.0}));
}

}   // namespace
}   // namespace kedge::engine
