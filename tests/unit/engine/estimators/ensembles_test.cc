// Networks and ensembles: the same on every device and at any number of threads, and what they refuse.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;
using testing::Data;

// Two waves, with a class by the size of their sum.
Data waves(std::int64_t n_rows, double scale = 1) {
  Data data{.n_rows = n_rows, .n_cols = 3, .classes = {"a", "b", "c"}};
  PhiloxStream random(5, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double a = random.uniform(), b = random.uniform();
    data.X.insert(data.X.end(), {scale * a, scale * b, scale * random.uniform()});
    data.values.push_back(scale * (std::sin(6 * a) + std::cos(5 * b)));
    data.y.push_back(data.values.back() < -0.3 * scale ? 0 : data.values.back() < 0.6 * scale ? 1 : 2);
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

TEST(MultiLayerPerceptron, LearnsTheSameCurveOnEveryDevice) {
  const Data data = waves(300);
  for (const char* solver : {"adam", "sgd"}) {
    const ValueMap params{{"hidden_layer_sizes", schema::ValueList{Value(9), Value(4)}},
                          {"activation", "tanh"},
                          {"solver", solver},
                          {"max_iter", 6},
                          {"batch_size", 64},
                          {"early_stopping", true}};
    const auto cpu = numbers(*fitted("MLPClassifier", params, data), "loss_curve_");
    const auto gpu = numbers(*fitted("MLPClassifier", params, data, "emulated"), "loss_curve_");
    ASSERT_EQ(cpu.size(), 6u);
    ASSERT_EQ(gpu.size(), 6u);
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(cpu[i], gpu[i], 1e-11) << solver << ", epoch " << i;
  }
}

TEST(MultiLayerPerceptron, SaysInWhichEpochALossIsNoNumber) {
  const std::string said =
      refusal("MLPRegressor", {{"solver", "sgd"}, {"learning_rate_init", 1e6}, {"random_state", 1}}, waves(100, 1e6));
  EXPECT_NE(said.find("the loss or a weight is not finite in epoch "), std::string::npos) << said;
  EXPECT_NE(said.find("lower learning_rate_init"), std::string::npos) << said;
}

// Trees side by side where they are small or no fewer than the threads, and otherwise their columns.
class OfRows : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(OfRows, GradientBoostingGrowsTheSameTreesAtAnyNumberOfThreads) {
  const Data data = waves(GetParam());
  const int before = omp_get_max_threads();
  std::vector<std::vector<double>> curves;
  for (const int threads : {1, 2, 4}) {
    omp_set_num_threads(threads);
    const ValueMap params{{"n_estimators", 3}, {"subsample", 0.7}, {"random_state", 1}};
    const auto fit = fitted("GradientBoostingClassifier", params, data);
    curves.push_back(numbers(*fit, "oob_scores_"));
    const std::vector<double> importances = numbers(*fit, "feature_importances_");
    curves.back().insert(curves.back().end(), importances.begin(), importances.end());
  }
  omp_set_num_threads(before);
  ASSERT_EQ(curves[0].size(), 6u);
  EXPECT_EQ(curves[0], curves[1]);
  EXPECT_EQ(curves[0], curves[2]);
}
INSTANTIATE_TEST_SUITE_P(Boosting, OfRows, ::testing::Values(200, 6000, 50'000));

TEST(AdaBoost, RefusesAnEstimatorThatIsNoBetterThanChance) {
  Data data = waves(90);
  for (std::size_t i = 0; i < data.y.size(); ++i) data.y[i] = i % 10 == 0 ? 0 : 1 + static_cast<std::int32_t>(i % 2);
  const ValueMap always{{"estimator", "DummyClassifier"},
                        {"params", ValueMap{{"strategy", "constant"}, {"constant", "a"}}}};
  const std::string said = refusal("AdaBoostClassifier", {{"estimator", always}}, data);
  EXPECT_NE(said.find("no better than chance with 3 classes"), std::string::npos) << said;
}

}   // namespace
}   // namespace kedge::engine
