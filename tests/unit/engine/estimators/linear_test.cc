// Linear models where scikit-learn's numbers are not the measure: optimality, repetition, dependent columns, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/linear/linear_problem.h"
#include "fixture.h"
#include "launches.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::Data;

Data random_data(std::int64_t n, std::int64_t d, std::int64_t n_used, double noise) {
  Data data{.n_rows = n, .n_cols = d, .classes = {"0"}};
  PhiloxStream random(11, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    double y = 3 + noise * (random.uniform() - 0.5);
    for (std::int64_t j = 0; j < d; ++j) {
      data.X.push_back(2 * random.uniform() - 1);
      if (j < n_used) y += static_cast<double>(j + 1) * data.X.back();
    }
    data.values.push_back(y), data.y.push_back(0);
  }
  return data;
}

struct Fitted {
  std::unique_ptr<Estimator<double>> estimator;
  schema::ValueMap attributes;
  std::vector<double> list(const std::string& name) const { return std::get<std::vector<double>>(value(name).data); }
  double number(const std::string& name) const { return std::get<double>(value(name).data); }
  const schema::Value& value(const std::string& name) const {
    for (const auto& [key, value] : attributes)
      if (key == name) return value;
    throw std::out_of_range(name);
  }
};

Fitted fit(const std::string& name, const schema::ValueMap& params, const Data& data, const std::vector<double>& weights = {},
           const std::string& device = "cpu") {
  const Context ctx{.device = testing::device_named(device)};
  const testing::Loaded<double> loaded(ctx.device, data);
  Fitted fitted{find_estimator(name)->make_f64(params), {}};
  Target y = loaded.target();
  y.weights = weights;
  fitted.estimator->fit(ctx, loaded.all(), y);
  fitted.attributes = fitted.estimator->attributes();
  return fitted;
}

// The largest violation of the Lasso's optimality, relative to alpha: the gradient is alpha against each sign, and at most alpha
// at 0.
double lasso_violation(const Data& data, const Fitted& fitted, double alpha) {
  const std::vector<double> w = fitted.list("coef_");
  const double b = fitted.number("intercept_"), n = static_cast<double>(data.n_rows);
  std::vector<double> gradient(w.size(), 0.0);
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    double residual = data.values[i] - b;
    for (std::size_t j = 0; j < w.size(); ++j) residual -= w[j] * data.X[i * w.size() + j];
    for (std::size_t j = 0; j < w.size(); ++j) gradient[j] += residual * data.X[i * w.size() + j] / n;
  }
  double worst = 0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w[j] != 0)
      worst = std::max(worst, std::abs(gradient[j] - std::copysign(alpha, w[j])));
    else
      worst = std::max(worst, std::abs(gradient[j]) - alpha);
  }
  return worst / alpha;
}

constexpr double kOptimal = 1e-4;   // of a gap of 1e-10: its root, and some

TEST(Lasso, IsOptimalByTheGramMatrixAndByWorkingSets) {
  for (const std::string& device : testing::device_names()) {
    for (const std::int64_t d : {40, 1100}) {   // beyond 1000 columns and with fewer rows: working sets
      const Data data = random_data(30, d, 6, 0.5);
      for (const double alpha : {0.5, 0.05}) {
        const Fitted fitted = fit("Lasso", {{"alpha", alpha}, {"tol", 1e-10}, {"max_iter", 100000}}, data, {}, device);
        EXPECT_LE(lasso_violation(data, fitted, alpha), kOptimal) << d << " columns, alpha " << alpha << " on " << device;
        const std::vector<double> w = fitted.list("coef_");
        EXPECT_GT(std::ranges::count_if(w, [](double v) { return v != 0; }), 0);
      }
    }
  }
}

TEST(LassoCV, FindsTheSameBestAlphaByWorkingSets) {   // padded with columns of 0, which never enter
  const Data narrow = random_data(60, 10, 4, 1.0);
  Data wide{.n_rows = 60, .n_cols = 1200, .y = narrow.y, .classes = {"0"}, .values = narrow.values};
  for (std::int64_t i = 0; i < 60; ++i) {
    wide.X.insert(wide.X.end(), narrow.X.begin() + i * 10, narrow.X.begin() + (i + 1) * 10);
    wide.X.insert(wide.X.end(), 1190, 0.0);
  }
  const schema::ValueMap params{{"alphas", 12}, {"tol", 1e-11}, {"max_iter", 100000}};
  const Fitted a = fit("LassoCV", params, narrow), b = fit("LassoCV", params, wide);
  EXPECT_NEAR(a.number("alpha_"), b.number("alpha_"), 1e-12);
  for (std::size_t j = 0; j < 10; ++j) EXPECT_NEAR(a.list("coef_")[j], b.list("coef_")[j], 1e-5);
}

TEST(RidgeCV, LeavesOutOneRowExactly) {
  for (const auto& [n, d] : {std::pair<std::int64_t, std::int64_t>{14, 3}, {8, 12}}) {
    const Data data = random_data(n, d, 3, 2.0);
    double mean_square = 0;
    for (std::int64_t out = 0; out < n; ++out) {   // by fitting without it
      Data rest = data;
      rest.n_rows = n - 1;
      rest.X.erase(rest.X.begin() + out * d, rest.X.begin() + (out + 1) * d);
      rest.values.erase(rest.values.begin() + out), rest.y.pop_back();
      const Fitted ridge = fit("Ridge", {{"alpha", 0.7}}, rest);
      double value = ridge.number("intercept_");
      for (std::int64_t j = 0; j < d; ++j)
        value += ridge.list("coef_")[static_cast<std::size_t>(j)] * data.X[static_cast<std::size_t>(out * d + j)];
      mean_square += std::pow(value - data.values[static_cast<std::size_t>(out)], 2) / static_cast<double>(n);
    }
    EXPECT_NEAR(fit("RidgeCV", {{"alphas", 0.7}}, data).number("best_score_"), -mean_square, 1e-10 * mean_square);
  }
}

TEST(LinearModels, TakeWeightsAsRepetition) {
  const Data data = random_data(20, 4, 4, 1.0);
  Data repeated{.n_cols = 4, .classes = {"0"}};
  std::vector<double> weights;
  for (std::int64_t i = 0; i < 20; ++i) {
    weights.push_back(static_cast<double>(i % 4));
    for (std::int64_t copy = 0; copy < i % 4; ++copy) {
      repeated.X.insert(repeated.X.end(), data.X.begin() + i * 4, data.X.begin() + (i + 1) * 4);
      repeated.values.push_back(data.values[static_cast<std::size_t>(i)]), repeated.y.push_back(0), ++repeated.n_rows;
    }
  }
  for (const auto& [name, params] : {std::pair<std::string, schema::ValueMap>{"LinearRegression", {}},
                                     {"LinearRegression", {{"positive", true}}},
                                     {"Ridge", {}},
                                     {"Ridge", {{"solver", "svd"}}},
                                     {"Lasso", {{"alpha", 0.1}, {"tol", 1e-14}}}}) {
    const Fitted weighted = fit(name, params, data, weights), copied = fit(name, params, repeated);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(weighted.list("coef_")[j], copied.list("coef_")[j], 1e-7) << name;
    EXPECT_NEAR(weighted.number("intercept_"), copied.number("intercept_"), 1e-7) << name;
  }
}

TEST(LinearRegression, GivesTheShortestSolutionOfDependentColumns) {
  Data data = random_data(40, 3, 3, 0.0);
  for (std::int64_t i = 0; i < 40; ++i) data.X[static_cast<std::size_t>(i * 3 + 2)] = 2 * data.X[static_cast<std::size_t>(i * 3)];
  for (std::int64_t i = 0; i < 40; ++i)
    data.values[static_cast<std::size_t>(i)] =
        1 + 5 * data.X[static_cast<std::size_t>(i * 3)] - data.X[static_cast<std::size_t>(i * 3 + 1)];
  for (const std::string& device : testing::device_names()) {
    const Fitted fitted = fit("LinearRegression", {}, data, {}, device);   // 5 = w0 + 2 w2, least w0^2 + w2^2
    EXPECT_EQ(std::get<std::int64_t>(fitted.value("rank_").data), 2);
    const std::vector<double> expected{1, -1, 2};
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(fitted.list("coef_")[j], expected[j], 1e-12);
  }
}

TEST(LinearRegression, TakesRoundingNoiseForAConstant) {
  Data data = random_data(30, 2, 1, 1.0);
  for (std::int64_t i = 0; i < 30; ++i) data.X[static_cast<std::size_t>(i * 2 + 1)] = i % 3 == 0 ? 0.1 + 0.2 : 0.3;
  const Fitted fitted = fit("LinearRegression", {}, data);
  EXPECT_EQ(std::get<std::int64_t>(fitted.value("rank_").data), 1);
  EXPECT_EQ(fitted.list("coef_")[1], 0.0);
}

TEST(LinearRegression, KeepsColumnsInSmallUnits) {   // exact: powers of two
  const Data data = random_data(50, 3, 3, 0.3);
  Data scaled = data;
  for (std::int64_t i = 0; i < 50; ++i) scaled.X[static_cast<std::size_t>(i * 3 + 1)] *= 0x1p-60;
  const Fitted plain = fit("LinearRegression", {}, data), small = fit("LinearRegression", {}, scaled);
  EXPECT_DOUBLE_EQ(plain.list("coef_")[1], small.list("coef_")[1] * 0x1p-60);
  EXPECT_DOUBLE_EQ(plain.list("coef_")[0], small.list("coef_")[0]);
}

TEST(Ridge, FallsBackToSingularValues) {
  Data data = random_data(20, 2, 2, 0.0);
  for (std::int64_t i = 0; i < 20; ++i) data.X[static_cast<std::size_t>(i * 2 + 1)] = 0;
  const Fitted fitted = fit("Ridge", {{"alpha", 0.0}}, data);
  EXPECT_EQ(std::get<std::string>(fitted.value("solver_").data), "svd");
  EXPECT_EQ(fitted.list("coef_")[1], 0.0);
}

TEST(LinearModels, MeasureSpreadsOnlyWhereTheyUseThem) {   // a second pass over the columns
  const Data data = random_data(60, 3, 2, 0.5);
  const auto passes = [&](const std::string& name) {
    const testing::Launches launches("tile_squares");
    fit(name, {}, data, {}, "emulated");
    return launches.count();
  };
  for (const char* name : {"Ridge", "Lasso", "ElasticNet", "LassoLars", "BayesianRidge"})
    EXPECT_EQ(passes(name), 0) << name;
  for (const char* name : {"LinearRegression", "PLSRegression"}) EXPECT_EQ(passes(name), 1) << name;
}

TEST(LinearModels, AProblemHasSpreadsWhereTheyAreAskedFor) {
  const Data data = random_data(40, 2, 2, 0.5);
  for (const std::string& device : testing::device_names()) {
    const Context ctx{.device = testing::device_named(device)};
    const testing::Loaded<double> loaded(ctx.device, data);
    using Problem = LinearProblem<double>;
    const Problem plain(ctx, "Ridge", loaded.all(), loaded.target(), true),
        with(ctx, "Ridge", loaded.all(), loaded.target(), true, Problem::Moments::kSpread);
    EXPECT_TRUE(plain.spread().empty());
    EXPECT_EQ(plain.mean(), with.mean());
    ASSERT_EQ(with.spread().size(), 2u);
    for (std::size_t j = 0; j < 2; ++j) {
      double squares = 0;
      for (std::size_t i = 0; i < 40; ++i) squares += std::pow(data.X[2 * i + j] - with.mean()[j], 2);
      EXPECT_NEAR(with.spread()[j], std::sqrt(squares / 40), 1e-12);
    }
  }
}

void expect_refused(const std::string& name, const schema::ValueMap& params, const std::string& part) {
  try {
    find_estimator(name)->make_f64(params);
    ADD_FAILURE() << name << " took it";
  } catch (const schema::Error& error) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(LinearModels, RefusePairsThatDoNotGoTogether) {
  expect_refused("Ridge", {{"solver", "svd"}, {"positive", true}}, "positive");
  expect_refused("Ridge", {{"solver", "lbfgs"}}, "positive");
  expect_refused("Ridge", {{"alpha", std::vector<double>{1.0, -1.0}}}, "negative");
  expect_refused("RidgeCV", {{"cv", 3}, {"store_cv_results", true}}, "cv");
  expect_refused("RidgeCV", {{"alphas", std::vector<double>{0.0}}}, "positive");
  expect_refused("ElasticNetCV", {{"l1_ratio", 0.0}}, "l1_ratio");
  expect_refused("DummyRegressor", {{"strategy", "quantile"}}, "quantile");
  expect_refused("DummyClassifier", {{"strategy", "constant"}}, "constant");
}

TEST(LinearModels, RefuseWeightsThatSumToNothing) {
  for (const char* name : {"LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "DummyRegressor"}) {
    try {
      fit(name, {}, random_data(20, 2, 1, 1.0), std::vector<double>(20, 0.0));
      ADD_FAILURE() << name << " took it";
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
      EXPECT_EQ(error.message.rfind(std::string(name) + ": ", 0), 0u) << error.message;
    }
  }
}

}   // namespace
}   // namespace kedge::engine
