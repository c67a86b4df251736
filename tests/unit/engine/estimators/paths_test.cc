// Paths of least angles, quantiles, robust lines, choices by folds and nearest values: what must hold of their answers,
// on every device, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;
using testing::Data;

constexpr double kAlike = 1e-9;   // sums in another order, through a path or a Cholesky factor

// A line with noise, of columns in different units.
Data line_data(std::int64_t n_rows, double noise = 0.3) {
  Data data{.n_rows = n_rows, .n_cols = 4, .X = {}, .y = {}, .classes = {"a", "b", "c"}};
  PhiloxStream random(9, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    double value = 5;
    for (int j = 0; j < 4; ++j) {
      const double x = random.uniform() - 0.5;
      data.X.push_back(x * std::pow(10.0, j)), value += (j == 3 ? 0.0 : j + 1) * x;
    }
    data.values.push_back(value + noise * (random.uniform() - 0.5));
    data.y.push_back(value < 4.5 ? 0 : value < 5.5 ? 1 : 2);
  }
  return data;
}

std::unique_ptr<Estimator<double>> fitted(const std::string& name, const ValueMap& params, const Data& data,
                                          const char* device = "cpu") {
  const Context ctx{.device = testing::device_named(device)};
  const testing::Loaded<double> loaded(ctx.device, data);
  auto estimator = find_estimator(name)->make_f64(params);
  estimator->fit(ctx, loaded.all(), loaded.target());
  return estimator;
}

std::vector<double> numbers(const Estimator<double>& estimator, const char* name) {
  const ValueMap map = estimator.attributes();
  const Value* const value = find_value(map, name);
  if (const auto* one = value ? std::get_if<double>(&value->data) : nullptr) return {*one};
  return value ? numbers_of(*value).value_or(std::vector<double>()) : std::vector<double>();
}

std::string refusal(const std::string& name, const ValueMap& params, const Data& data) {
  try {
    fitted(name, params, data);
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "none";
}

void expect_alike(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  double size = 0;
  for (const double v : expected) size = std::max(size, std::abs(v));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kAlike * size) << i;
}

TEST(LeastAngles, WalkTheSamePathOnEveryDevice) {
  const Data data = line_data(200);
  for (const char* name : {"Lars", "LassoLars", "LassoLarsIC", "LarsCV", "LassoLarsCV"}) {
    const ValueMap params = std::string(name) == "LassoLars" ? ValueMap{{"alpha", 0.001}} : ValueMap{};
    const auto cpu = fitted(name, params, data), gpu = fitted(name, params, data, "emulated");
    for (const char* attribute : {"coef_", "alphas_", "intercept_"})
      expect_alike(numbers(*gpu, attribute), numbers(*cpu, attribute));
  }
}

TEST(LeastAngles, LeaveOutAColumnThatIsACopy) {
  Data data = line_data(60);
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i * data.n_cols);
    data.X[row + 1] = data.X[row];
  }
  const std::vector<double> coef = numbers(*fitted("Lars", {}, data), "coef_");
  ASSERT_EQ(coef.size(), 4u);
  EXPECT_TRUE(coef[0] == 0 || coef[1] == 0);
  for (const double c : coef) EXPECT_TRUE(std::isfinite(c));
}

TEST(LassoLarsIC, NeedsANoiseVarianceWhereColumnsAreMany) {
  EXPECT_NE(refusal("LassoLarsIC", {}, line_data(5)).find("noise_variance is null"), std::string::npos);
}

// The loss of a line, as QuantileRegressor has it.
double pinball(const Data& data, const std::vector<double>& coef, double intercept, double quantile) {
  double sum = 0;
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    double r = data.values[static_cast<std::size_t>(i)] - intercept;
    for (std::int64_t j = 0; j < data.n_cols; ++j)
      r -= coef[static_cast<std::size_t>(j)] * data.X[static_cast<std::size_t>(i * data.n_cols + j)];
    sum += r > 0 ? quantile * r : (quantile - 1) * r;
  }
  return sum / static_cast<double>(data.n_rows);
}

TEST(QuantileRegressor, FindsALineThatNoSmallStepImproves) {
  const Data data = line_data(501);
  for (const double quantile : {0.1, 0.5, 0.93}) {
    const auto model = fitted("QuantileRegressor", {{"quantile", quantile}, {"alpha", 0.0}}, data);
    std::vector<double> coef = numbers(*model, "coef_");
    const double intercept = numbers(*model, "intercept_")[0], best = pinball(data, coef, intercept, quantile);
    for (std::size_t j = 0; j < coef.size(); ++j)
      for (const double step : {1e-3, -1e-3, 1e-6, -1e-6}) {
        coef[j] += step;
        EXPECT_GE(pinball(data, coef, intercept, quantile), best * (1 - 1e-11));
        coef[j] -= step;
      }
    EXPECT_GE(pinball(data, coef, intercept + 1e-5, quantile), best * (1 - 1e-11));
    EXPECT_GE(pinball(data, coef, intercept - 1e-5, quantile), best * (1 - 1e-11));
  }
}

TEST(QuantileRegressor, FindsTheSameLineOnEveryDeviceAndOfRowsOnALine) {
  const Data data = line_data(301), exact = line_data(50, 0);
  const ValueMap params{{"quantile", 0.31}, {"alpha", 0.01}};
  expect_alike(numbers(*fitted("QuantileRegressor", params, data, "emulated"), "coef_"),
               numbers(*fitted("QuantileRegressor", params, data), "coef_"));
  const std::vector<double> coef = numbers(*fitted("QuantileRegressor", {{"alpha", 0.0}}, exact), "coef_");
  ASSERT_EQ(coef.size(), 4u);
  for (std::size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(coef[j] * std::pow(10.0, j), j == 3 ? 0.0 : static_cast<double>(j + 1), 1e-8) << j;
}

TEST(RANSACRegressor, IsNotMovedByOutliers) {
  Data data = line_data(200, 0.02);
  for (std::size_t i = 0; i < 200; i += 5) data.values[i] += 100;
  const Context ctx{.device = testing::device_named("emulated")};
  const testing::Loaded<double> loaded(ctx.device, data);
  auto estimator = find_estimator("RANSACRegressor")->make_f64({{"random_state", 3}, {"residual_threshold", 0.1}});
  estimator->fit(ctx, loaded.all(), loaded.target());
  const std::vector<double> values = dynamic_cast<const Regressor<double>&>(*estimator).predict(ctx, loaded.all());
  for (std::size_t i = 0; i < 200; ++i) EXPECT_NEAR(values[i], data.values[i] - (i % 5 == 0 ? 100 : 0), 0.1) << i;
}

TEST(RANSACRegressor, SaysThatNoModelHasAnInlier) {
  const std::string said =
      refusal("RANSACRegressor", {{"residual_threshold", 0.0}, {"min_samples", 50}, {"max_trials", 7}}, line_data(100));
  EXPECT_NE(said.find("no model of 7 subsets has an inlier"), std::string::npos) << said;
  EXPECT_NE(refusal("RANSACRegressor", {{"estimator", ValueMap{{"estimator", "Ridge"}}}}, line_data(100))
                .find("min_samples is null"),
            std::string::npos);
}

TEST(LogisticRegressionCV, TakesAClassThatAFoldLacks) {
  Data data = line_data(60);
  for (std::int32_t& code : data.y) code = code == 2 ? 1 : code;
  data.y[7] = 2;   // the one row of its class
  const auto model = fitted("LogisticRegressionCV", {{"Cs", 2}, {"cv", 3}}, data);
  EXPECT_EQ(dynamic_cast<const Classifier<double>&>(*model).n_classes(), 3);
  EXPECT_EQ(numbers(*model, "C_").size(), 3u);
  EXPECT_NE(refusal("LogisticRegressionCV", {{"cv", 100}}, data).find("cv is 100"), std::string::npos);
}

TEST(KNNImputer, TakesTheMeanOfAColumnWhereNoRowIsNear) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Data data{.n_rows = 4, .n_cols = 2, .X = {1, nan, 3, nan, nan, 5, nan, 9}, .y = {0, 0, 0, 0}, .classes = {"a"}};
  for (const char* device : {"cpu", "emulated"}) {
    const Context ctx{.device = testing::device_named(device)};
    const testing::Loaded<double> loaded(ctx.device, data);
    auto imputer = find_estimator("KNNImputer")->make_f64({});
    imputer->fit(ctx, loaded.all(), loaded.target());
    const auto filled = dynamic_cast<const Transformer<double>&>(*imputer).transform(ctx, loaded.all());
    EXPECT_EQ(host_values(ctx, filled), (std::vector<double>{1, 7, 3, 7, 2, 5, 2, 9}));
  }
}

TEST(PLSRegression, StopsWhereNothingIsLeftOfTheTarget) {
  const Data exact = line_data(50, 0);
  const auto model = fitted("PLSRegression", {{"n_components", 4}}, exact);
  EXPECT_LE(numbers(*model, "n_iter_").size(), 4u);
  EXPECT_NE(refusal("PLSRegression", {{"n_components", 9}}, exact).find("n_components is 9, must be at most 4"),
            std::string::npos);
}

}   // namespace
}   // namespace kedge::engine
