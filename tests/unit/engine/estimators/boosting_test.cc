// Gradient boosting: the same bits everywhere, missing values, categories, constraints, early stopping.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;
using testing::Data;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kClassifier = "HistGradientBoostingClassifier";
constexpr const char* kRegressor = "HistGradientBoostingRegressor";

template <class T = double>
std::unique_ptr<Estimator<T>> make(const std::string& name, const ValueMap& params) {
  if constexpr (sizeof(T) == 4) return find_estimator(name)->make_f32(params);
  else return find_estimator(name)->make_f64(params);
}

template <class F>
schema::Error error_of(F&& f) {
  try {
    f();
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "no error"};
}

// Two columns of noise around a bump and a slope, with a value for regressors and a class by its size.
Data bumps(std::int64_t n_rows, std::int32_t n_classes = 2) {
  Data data{.n_rows = n_rows, .n_cols = 3};
  PhiloxStream random(3, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double a = random.uniform(), b = random.uniform(), c = random.uniform();
    data.X.insert(data.X.end(), {a, b, std::floor(8 * c)});
    data.values.push_back(std::sin(6 * a) + b * b + 0.1 * c + 0.2 * random.uniform());
    data.y.push_back(static_cast<std::int32_t>(
        std::min<double>(n_classes - 1, std::floor(n_classes * (data.values.back() + 1) / 3.2))));
  }
  for (std::int32_t c = 0; c < n_classes; ++c) data.classes.push_back(std::to_string(c));
  return data;
}

template <class T>
std::vector<double> answers(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator)) return regressor->predict(ctx, X);
  const auto& classifier = dynamic_cast<const Classifier<T>&>(estimator);
  Matrix<double> proba(ctx.memory(), X.n_rows(), classifier.n_classes());
  classifier.predict_proba(ctx, X, proba.view());
  return proba.to_host();
}

template <class T = double>
std::vector<double> learned(const std::string& name, const ValueMap& params, const Data& data,
                            const char* device = "cpu", int threads = 2) {
  const Context ctx{.device = testing::device_named(device)};
  const testing::Loaded<T> loaded(ctx.device, data);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const auto estimator = make<T>(name, params);
  estimator->fit(ctx, loaded.all(), loaded.target());
  const std::vector<double> result = answers<T>(ctx, *estimator, loaded.all());
  omp_set_num_threads(before);
  return result;
}

Value attribute(const Estimator<double>& estimator, const char* name) {
  const ValueMap map = estimator.attributes();
  const Value* const value = find_value(map, name);
  return value ? *value : Value();
}

// Rows that are few enough for exact integers, and so many that they are rounded at random.
class OfSize : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(OfSize, BoostingGivesTheSameBitsAtAnyNumberOfThreadsAndBesideEveryDevice) {
  const Data data = bumps(GetParam(), 3);
  const ValueMap params{{"max_iter", 8}, {"max_features", 0.7}};
  for (const char* name : {kClassifier, kRegressor}) {
    const std::vector<double> one = learned(name, params, data, "cpu", 1);
    EXPECT_EQ(learned(name, params, data, "cpu", 2), one) << name;
    EXPECT_EQ(learned(name, params, data, "cpu", 3), one) << name;
    EXPECT_EQ(learned(name, params, data, "emulated"), one) << name;
    EXPECT_EQ(learned<float>(name, params, data, "cpu", 1), learned<float>(name, params, data, "emulated")) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Boosting, OfSize, ::testing::Values(500, 20'000));

TEST(Boosting, FitsManyRowsAsWellAsFew) {   // the residual is the noise of the target, 0.2 / sqrt(12)
  for (const std::int64_t n : {std::int64_t{8000}, std::int64_t{70'000}}) {
    const Data data = bumps(n);
    const std::vector<double> found =
        learned(kRegressor, {{"early_stopping", false}, {"max_iter", 30}, {"learning_rate", 0.3}}, data);
    double squares = 0;
    for (std::size_t i = 0; i < found.size(); ++i) squares += (found[i] - data.values[i]) * (found[i] - data.values[i]);
    EXPECT_LT(std::sqrt(squares / static_cast<double>(n)), 0.0625) << n;
  }
}

TEST(Boosting, SendsMissingValuesToTheSideWhereTheyFit) {
  Data data = bumps(400);
  for (std::size_t i = 0; i < 400; ++i) {
    if (i % 3 == 0) data.X[3 * i] = kNan;
    data.values[i] = i % 3 == 0 ? 5.0 : data.X[3 * i];
  }
  const std::vector<double> found = learned(kRegressor, {}, data);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], data.values[i], 0.05) << i;
}

// One nominal column of five categories, in an order of its own, and one of numbers.
Samples<double> shops(const Context& ctx, const std::vector<std::string>& declared, std::vector<double>& values) {
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  std::vector<double> cells;
  values.clear();
  for (int i = 0; i < 300; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i % 5)];
    cells.push_back(static_cast<double>(std::ranges::find(declared, name) - declared.begin()));
    cells.push_back(static_cast<double>(i % 7));
    values.push_back(name == "b" || name == "e" ? 10 : 0);
  }
  return samples_of(Matrix<double>(ctx.memory(), 300, 2, cells), {{"shop", declared, true}, {.name = "day"}});
}

TEST(Boosting, CutsCategoriesIntoSetsByName) {
  for (const char* device : {"cpu", "emulated"}) {
    const Context ctx{.device = testing::device_named(device)};
    std::vector<double> values;
    const Samples<double> X = shops(ctx, {"c", "a", "e", "b", "d"}, values);
    const auto estimator = make(kRegressor, {{"max_iter", 1}, {"learning_rate", 1.0}, {"max_leaf_nodes", 2}});
    Target y{.values = values};
    estimator->fit(ctx, X, y);
    EXPECT_EQ(schema::to_string(attribute(*estimator, "is_categorical_")), "[true,false]");
    for (const std::vector<std::string>& declared :
         {std::vector<std::string>{"c", "a", "e", "b", "d"}, {"e", "d", "c", "b", "a"}}) {
      const std::vector<double> found = answers<double>(ctx, *estimator, shops(ctx, declared, values));
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], values[i], 1e-9) << i;
    }
  }
}

TEST(Boosting, TakesAnUnknownCategoryForMissing) {
  for (const char* device : {"cpu", "emulated"}) {
    const Context ctx{.device = testing::device_named(device)};
    std::vector<double> values;
    const Samples<double> X = shops(ctx, {"a", "b", "c", "d", "e"}, values);
    const auto estimator = make(kRegressor, {});
    estimator->fit(ctx, X, Target{.values = values});
    for (const std::vector<std::string>& declared : {std::vector<std::string>{"a", "z"}, {"y", "z"}}) {
      const std::vector<Feature> features{{"shop", declared, true}, {.name = "day"}};
      const std::vector<double> found =
          answers<double>(ctx, *estimator,
                          samples_of(Matrix<double>(ctx.memory(), 2, 2, std::vector<double>{1, 3, kNan, 3}), features));
      EXPECT_EQ(found[0], found[1]) << device;
    }
  }
}

// Cells that are missing, categories by number, and what is no category of the fit.
TEST(Boosting, AnswersWithTheSameBitsOnAGpuWhateverACellIs) {
  Data data = bumps(900, 3);
  Data asked = data;
  for (std::size_t i = 0; i < 900; ++i) {
    if (i % 5 == 0) data.X[3 * i] = kNan;
    if (i % 3 == 0) asked.X[3 * i + i % 2] = kNan;
    if (i % 7 == 0) asked.X[3 * i + 2] = i % 2 == 0 ? 99 : 2.5;
  }
  const ValueMap params{{"max_iter", 6}, {"categorical_features", schema::ValueList{2}}};
  const Context cpu{.device = testing::device_named("cpu")}, gpu{.device = testing::device_named("emulated")};
  for (const char* name : {kClassifier, kRegressor}) {
    const auto compare = [&]<class T>(T) {
      const testing::Loaded<T> fitted(cpu.device, data), here(cpu.device, asked), there(gpu.device, asked);
      const auto estimator = make<T>(name, params);
      estimator->fit(cpu, fitted.all(), fitted.target());
      const std::vector<double> expected = answers<T>(cpu, *estimator, here.all());
      EXPECT_EQ(answers<T>(gpu, *estimator, there.all()), expected) << name;
      EXPECT_EQ(answers<T>(cpu, *estimator, here.all()), expected) << name;
    };
    compare(float{}), compare(double{});
  }
}

TEST(Boosting, RisesWhereItMustRise) {
  Data data = bumps(2000);
  const ValueMap constrained{{"monotonic_cst", schema::ValueList{1, 0, 0}}};
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  Data line{.n_rows = 200, .n_cols = 3};
  for (int i = 0; i < 200; ++i) line.X.insert(line.X.end(), {i / 200.0, 0.5, 4.0}), line.y.push_back(i % 2);
  line.classes = {"0", "1"};
  const testing::Loaded<double> asked(ctx.device, line);
  for (const bool is_constrained : {true, false}) {
    const auto estimator = make(kRegressor, is_constrained ? constrained : ValueMap{});
    estimator->fit(ctx, loaded.all(), loaded.target());
    EXPECT_EQ(std::ranges::is_sorted(answers<double>(ctx, *estimator, asked.all())), is_constrained);
  }
}

TEST(Boosting, AddsUpColumnsThatMayNotInteract) {
  Data data = bumps(2000);
  for (std::size_t i = 0; i < data.values.size(); ++i) data.values[i] = data.X[3 * i] * data.X[3 * i + 1];
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  Data corners{.n_rows = 4,
               .n_cols = 3,
               .X = {0.1, 0.1, 0, 0.1, 0.9, 0, 0.9, 0.1, 0, 0.9, 0.9, 0},
               .y = {0, 1, 0, 1},
               .classes = {"0", "1"}};
  const testing::Loaded<double> asked(ctx.device, corners);
  const auto surplus = [&](const ValueMap& params) {
    const auto estimator = make(kRegressor, params);
    estimator->fit(ctx, loaded.all(), loaded.target());
    const std::vector<double> found = answers<double>(ctx, *estimator, asked.all());
    return std::abs(found[3] - found[2] - found[1] + found[0]);
  };
  EXPECT_LT(surplus({{"interaction_cst", "no_interactions"}}), 1e-12);
  EXPECT_GT(surplus({}), 0.4);
  EXPECT_GT(surplus({{"interaction_cst", "pairwise"}}), 0.4);
}

TEST(Boosting, StopsWhenTheRowsLeftOutGainNothing) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = testing::make_data(400, 4, 2);
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto estimator =
      make(kClassifier, {{"max_iter", 500}, {"early_stopping", true}, {"n_iter_no_change", 5}, {"random_state", 0}});
  estimator->fit(ctx, loaded.all(), loaded.target());
  const auto n_iter = std::get<std::int64_t>(attribute(*estimator, "n_iter_").data);
  EXPECT_LT(n_iter, 500);
  EXPECT_EQ(std::get<std::vector<double>>(attribute(*estimator, "train_score_").data).size(),
            static_cast<std::size_t>(n_iter + 1));
  EXPECT_EQ(std::get<std::vector<double>>(attribute(*estimator, "validation_score_").data).size(),
            static_cast<std::size_t>(n_iter + 1));
}

TEST(Boosting, GivesTheOnlyClassThatItSawAllProbability) {
  Data data = testing::make_data(60, 3, 2);
  std::ranges::fill(data.y, 1);
  for (const double share : learned(kClassifier, {{"max_iter", 3}}, data)) EXPECT_TRUE(share == 0 || share == 1);
}

TEST(Boosting, SaysWhatItCannotTake) {
  const Context ctx{.device = testing::device_named("cpu")};
  Data data = bumps(100, 3);
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto message = [&](const char* name, const ValueMap& params) {
    return error_of([&] { make(name, params)->fit(ctx, loaded.all(), loaded.target()); }).message;
  };
  EXPECT_EQ(message(kRegressor, {{"loss", "gamma"}}),
            "HistGradientBoostingRegressor: the target has values up to 0, loss gamma needs more");
  EXPECT_EQ(message(kRegressor, {{"loss", "quantile"}}),
            "HistGradientBoostingRegressor: quantile is null, must be a number from 0 to 1 for loss quantile");
  EXPECT_EQ(message(kClassifier, {{"monotonic_cst", schema::ValueList{1, 0, 0}}}),
            "HistGradientBoostingClassifier: monotonic_cst is [1,0,0], must be null with more than two classes");
  EXPECT_EQ(message(kRegressor, {{"categorical_features", schema::ValueList{0}}, {"max_bins", 20}}),
            "HistGradientBoostingRegressor: column 0 has 100 categories, at most max_bins = 20 are possible");
  EXPECT_EQ(message(kRegressor, {{"categorical_features", schema::ValueList{7}}}),
            "HistGradientBoostingRegressor: categorical_features is [7], must be below the 3 columns");
  EXPECT_EQ(message(kRegressor, {{"interaction_cst", schema::ValueList{Value(schema::ValueList{0, 5})}}}),
            "HistGradientBoostingRegressor: interaction_cst is [[0,5]], must be below the 3 columns");
  std::vector<double> values;
  const Samples<double> X = shops(ctx, {"a", "b", "c", "d", "e"}, values);
  EXPECT_EQ(error_of([&] {
              make(kRegressor, {{"categorical_features", nullptr}})->fit(ctx, X, Target{.values = values});
            }).message,
            "HistGradientBoostingRegressor: column 'shop' is nominal, and categorical_features does not name it: "
            "name it, or leave \"from_dtype\"");
}

}   // namespace
}   // namespace kedge::engine
