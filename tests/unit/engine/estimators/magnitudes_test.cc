// Values whose squares leave the number format: scaled first, or refused by name, and never wrong in silence.
#include "engine/estimators/magnitudes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/estimators/catalogue.h"
#include "fixture.h"
#include "launches.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::Data;

constexpr double kSame = 1e-9;      // relative: the same steps on columns times a power of ten, which rounds each value
constexpr double kSameF32 = 1e-4;

Data times(Data data, double factor) {
  for (double& x : data.X) x *= factor;
  return data;
}

Data blobs() {
  Data data = testing::make_data(90, 4, 3);
  data.values.clear();
  for (std::int64_t i = 0; i < data.n_rows; ++i)
    data.values.push_back(2 * data.X[static_cast<std::size_t>(4 * i)] - data.X[static_cast<std::size_t>(4 * i + 2)]);
  return data;
}

template <class T>
std::unique_ptr<Estimator<T>> made(const std::string& name, const schema::ValueMap& params) {
  if constexpr (std::is_same_v<T, float>) return find_estimator(name)->make_f32(params);
  else return find_estimator(name)->make_f64(params);
}

template <class T>
struct Fit {
  Fit(const std::string& name, const schema::ValueMap& params, const Data& data, const std::string& device)
      : ctx{.device = testing::device_named(device)}, loaded(ctx.device, data), estimator(made<T>(name, params)) {
    const Target y = loaded.target();
    require_magnitudes(ctx, name, *estimator, loaded.all(), y);
    estimator->fit(ctx, loaded.all(), y);
  }
  std::vector<double> transformed() {
    return host_values(ctx, dynamic_cast<Transformer<T>&>(*estimator).transform(ctx, loaded.all()));
  }
  std::vector<double> predicted() { return dynamic_cast<Regressor<T>&>(*estimator).predict(ctx, loaded.all()); }
  Context ctx;
  testing::Loaded<T> loaded;
  std::unique_ptr<Estimator<T>> estimator;
};

void expect_same(const std::vector<double>& expected, const std::vector<double>& actual, double factor, double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  double size = 0;
  for (const double e : expected) size = std::max(size, std::abs(e));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i] / factor / size, expected[i] / size, tolerance) << i;
}

std::string refusal(const std::string& name, const Data& data, bool is_float32 = false, const schema::ValueMap& params = {}) {
  try {
    if (is_float32) Fit<float>(name, params, data, "cpu");
    else Fit<double>(name, params, data, "cpu");
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "";
}

class Magnitudes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, Magnitudes, ::testing::Values("cpu", "emulated"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Magnitudes, PrincipalComponentsTurnWithTheScale) {
  const schema::ValueMap two{{"n_components", std::int64_t{2}}};
  const std::vector<double> plain = Fit<double>("PCA", two, blobs(), GetParam()).transformed();
  for (const double factor : {1e160, 1e300, 1e-170, 1e-300})
    expect_same(plain, Fit<double>("PCA", two, times(blobs(), factor), GetParam()).transformed(), factor, kSame);
  for (const double factor : {2e19, 1e24, 1e-24, 1e-30})
    expect_same(plain, Fit<float>("PCA", two, times(blobs(), factor), GetParam()).transformed(), factor, kSameF32);
}

// The ranges are a pass over the table: its variances tell as much, unless they are too small or too large for floats.
TEST(PrincipalComponents, AskForRangesOnlyWhereVariancesDoNotTell) {
  const auto passes = [](double factor, const schema::ValueMap& params) {
    const testing::Launches launches("tile_range");
    Fit<float>("PCA", params, times(blobs(), factor), "emulated");
    return launches.count();
  };
  const schema::ValueMap by_covariance{{"svd_solver", "covariance_eigh"}};
  EXPECT_EQ(passes(1, by_covariance), 0);
  EXPECT_EQ(passes(1e10, by_covariance), 0);
  for (const double factor : {2e19, 1e-24, 0.0}) EXPECT_EQ(passes(factor, by_covariance), 1) << factor;
  EXPECT_EQ(passes(1, {{"svd_solver", "full"}}), 1);   // may decompose the floats themselves
}

TEST(PrincipalComponents, AreTheSameBitsWhetherRangesAreKnownOrNot) {
  const Context ctx{.device = testing::device_named("emulated")};
  const Data data = blobs();
  const testing::Loaded<float> fresh(ctx.device, data), known(ctx.device, data);
  static_cast<void>(table_ranges(ctx, known.all()));
  std::vector<schema::Value> components;
  for (const testing::Loaded<float>* loaded : {&fresh, &known}) {
    const auto pca = made<float>("PCA", {});
    pca->fit(ctx, loaded->all(), loaded->target());
    for (auto& [name, value] : pca->attributes())
      if (name == "components_") components.push_back(value);
  }
  ASSERT_EQ(components.size(), 2u);
  EXPECT_EQ(components[0], components[1]);
}

TEST_P(Magnitudes, WhiteningRefusesVariancesThatLeaveDouble) {
  EXPECT_THROW(Fit<double>("PCA", {{"whiten", true}}, times(blobs(), 1e170), GetParam()), schema::Error);
}

TEST_P(Magnitudes, StandardScalerScalesEveryFiniteColumn) {
  const std::vector<double> plain = Fit<double>("StandardScaler", {}, blobs(), GetParam()).transformed();
  for (const double factor : {1e160, 1e170, 1e300, 1e-170, 1e-290})
    expect_same(plain, Fit<double>("StandardScaler", {}, times(blobs(), factor), GetParam()).transformed(), 1, kSame);
}

TEST_P(Magnitudes, VarianceThresholdKeepsWhatVaries) {
  for (const double factor : {1e170, 1e-170})
    EXPECT_EQ(Fit<double>("VarianceThreshold", {}, times(blobs(), factor), GetParam()).transformed().size(), blobs().X.size());
}

TEST_P(Magnitudes, LinearRegressionFindsColumnsAndTargetsOfAnyScale) {
  const Data plain = blobs();
  for (const double factor : {1e160, 1e170, 1e-170, 1e-200})
    expect_same(plain.values, Fit<double>("LinearRegression", {}, times(plain, factor), GetParam()).predicted(), 1, kSame);
  Data mixed = plain;
  for (std::size_t i = 0; i < mixed.X.size(); ++i) mixed.X[i] *= i % 4 == 0 ? 1e170 : i % 4 == 1 ? 1e-200 : 1;
  expect_same(plain.values, Fit<double>("LinearRegression", {}, mixed, GetParam()).predicted(), 1, kSame);
  for (const double factor : {1e-300, 1e-160, 1e200}) {
    Data scaled = plain;
    for (double& y : scaled.values) y *= factor;
    expect_same(plain.values, Fit<double>("LinearRegression", {}, scaled, GetParam()).predicted(), factor, kSame);
  }
}

// Numbers near 1e10, skewed to one side by a hundredth.
Data skewed(double side) {
  Data data{.n_rows = 100, .n_cols = 1, .classes = {"0"}};
  for (int i = 0; i < 100; ++i) {
    data.X.push_back(1e10 * (1 + side * 0.01 * std::exp(0.03 * i)));
    data.y.push_back(0);
  }
  return data;
}

TEST_P(Magnitudes, BoxCoxStandardisesPowersWhoseSquaresOverflow) {
  const std::vector<double> powers = Fit<double>("PowerTransformer", {{"method", "box-cox"}}, skewed(-1), GetParam()).transformed();
  double sum = 0, squares = 0;
  for (const double v : powers) sum += v, squares += v * v;
  EXPECT_NEAR(sum, 0, 100 * kSame);
  EXPECT_NEAR(squares, 100, 100 * kSame);
}

TEST_P(Magnitudes, BoxCoxRefusesPowersThatRoundToOneNumber) {
  try {
    Fit<double>("PowerTransformer", {{"method", "box-cox"}}, skewed(1), GetParam());
    FAIL() << "fitted";
  } catch (const schema::Error& error) {
    EXPECT_NE(error.message.find("the powers of column 0 with its lambda -"), std::string::npos) << error.message;
  }
}

TEST(MagnitudeRefusals, NameTheColumnAndTheTypeOfDistances) {
  EXPECT_EQ(refusal("DBSCAN", times(blobs(), 1)), "");
  for (const double factor : {3e19, 1e20})
    EXPECT_NE(refusal("DBSCAN", times(blobs(), factor), true).find("too large for float32; scale it first, or use float64"), std::string::npos);
  EXPECT_EQ(refusal("DBSCAN", times(blobs(), 1e20)), "");
  for (const char* name : {"DBSCAN", "KNeighborsClassifier", "TruncatedSVD", "IncrementalPCA"}) {
    EXPECT_NE(refusal(name, times(blobs(), 1e160)).find("too large for float64"), std::string::npos) << name;
    EXPECT_NE(refusal(name, times(blobs(), 1e-170)).find("too small for float64"), std::string::npos) << name;
    EXPECT_NE(refusal(name, times(blobs(), 1e-24), true).find("too small for float32"), std::string::npos) << name;
  }
  EXPECT_EQ(refusal("KNeighborsClassifier", times(blobs(), 1e160), false, {{"metric", "manhattan"}}), "");
}

TEST(MagnitudeRefusals, NameOneColumnOfMany) {
  Data data = blobs();
  for (std::size_t i = 2; i < data.X.size(); i += 4) data.X[i] *= 1e160;
  for (const char* name : {"Ridge", "RidgeCV", "RidgeClassifier", "Lasso", "ElasticNet", "LogisticRegression", "GaussianNB", "Normalizer",
                           "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "SelectKBest"})
    EXPECT_NE(refusal(name, data).find(std::string(name) + ": column 2 has values up to"), std::string::npos) << name << refusal(name, data);
}

TEST(MagnitudeRefusals, NameTheTarget) {
  for (const double factor : {1e-300, 1e200}) {
    Data data = blobs();
    for (double& y : data.values) y *= factor;
    for (const char* name : {"Ridge", "Lasso", "DecisionTreeRegressor"})
      EXPECT_NE(refusal(name, data).find("the target has values up to"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace kedge::engine
