// What the comparison with scikit-learn cannot see of the preprocessing estimators: laziness, messages, and the parts they stand
// on.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/preprocessing/k_bins_edges.h"
#include "engine/estimators/preprocessing/scalar_search.h"
#include "engine/estimators/selection/tail_probabilities.h"
#include "fixture.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {


constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTail = 1e-12;        // relative; the functions promise about 1e-13
constexpr double kSameSteps = 1e-10;   // rounding of a flat minimum; another step would be off by 1e-9 and more

class PreprocessingTest : public ::testing::Test {
 protected:
  std::unique_ptr<Estimator<double>> made(const std::string& name, const schema::ValueMap& params = {}) {
    return find_estimator(name)->make_f64(params);
  }
  Samples<double> fitted(const std::string& name, const schema::ValueMap& params = {}) {
    estimator_ = made(name, params);
    estimator_->fit(ctx_, loaded_.all(), loaded_.target());
    return dynamic_cast<const Transformer<double>&>(*estimator_).transform(ctx_, loaded_.all());
  }
  static std::string message_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const schema::Error& error) {
      return error.message;
    }
    return "nothing was refused";
  }

  Context ctx_{.device = testing::device_named("cpu")};
  testing::Data data_{.n_rows = 4, .n_cols = 2, .X = {1, 10, 2, 20, 3, 30, 4, 40}, .y = {0, 1, 0, 1}, .classes = {"0", "1"}};
  testing::Loaded<double> loaded_{ctx_.device, data_};
  std::unique_ptr<Estimator<double>> estimator_;
};

// Every scaler that only shifts and scales gives its input's table back.
TEST_F(PreprocessingTest, ScalersMoveNoData) {
  for (const char* name : {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"})
    EXPECT_EQ(fitted(name).table, loaded_.all().table) << name;
}

TEST_F(PreprocessingTest, MissingValuesAreLeftOutAndStay) {
  data_.X[0] = kNaN;
  testing::Loaded<double> with_missing(ctx_.device, data_);
  for (const char* name :
       {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer"}) {
    const auto estimator = made(name);
    ASSERT_TRUE(estimator->accepts_nan()) << name;
    estimator->fit(ctx_, with_missing.all(), with_missing.target());
    const auto values =
        host_values(ctx_, dynamic_cast<const Transformer<double>&>(*estimator).transform(ctx_, with_missing.all()));
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(std::isnan(values[i]), i == 0) << name << " " << i;
  }
}

TEST_F(PreprocessingTest, AMissingRowCountsForItsColumnAlone) {
  data_.X[0] = kNaN;
  testing::Loaded<double> with_missing(ctx_.device, data_);
  const auto scaler = made("StandardScaler");
  scaler->fit(ctx_, with_missing.all(), with_missing.target());
  for (const auto& [name, value] : scaler->attributes()) {
    if (name == "n_samples_seen_") {
      EXPECT_EQ(value, schema::Value(schema::ValueList{3, 4}));
    }
    if (name == "mean_") {
      EXPECT_EQ(value, schema::Value(std::vector<double>{3, 25}));
    }
  }
}

TEST_F(PreprocessingTest, InfinityIsNotMissing) {
  data_.X[3] = -std::numeric_limits<double>::infinity();
  testing::Loaded<double> infinite(ctx_.device, data_);
  for (const std::string name : {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
                                 "VarianceThreshold"})
    EXPECT_EQ(message_of([&] { made(name)->fit(ctx_, infinite.all(), infinite.target()); }),
              name + ": column 1 has an infinite value, must be finite or missing (NaN)");
}

TEST_F(PreprocessingTest, SplinesRefuseValuesBeyondTheKnotsIfAsked) {
  fitted("SplineTransformer", {{"extrapolation", "error"}});
  const Samples<double> beyond = loaded_.all().then({0, 0}, {1, 2});
  const auto& spline = dynamic_cast<const Transformer<double>&>(*estimator_);
  EXPECT_EQ(message_of([&] { spline.transform(ctx_, beyond); }),
            "SplineTransformer: column 1 has 80, beyond its knots, 10 to 40");
}

TEST_F(PreprocessingTest, RefusesParametersThatDoNotGoTogether) {
  EXPECT_EQ(message_of([&] { made("QuantileTransformer", {{"n_quantiles", 20}, {"subsample", 10}}); }),
            "QuantileTransformer: n_quantiles is 20, must be at most subsample, 10");
  EXPECT_EQ(message_of([&] { made("SplineTransformer", {{"extrapolation", "periodic"}, {"n_knots", 3}}); }),
            "SplineTransformer: degree is 3, must be less than the number of knots with extrapolation \"periodic\"");
  EXPECT_EQ(message_of([&] { made("PolynomialFeatures", {{"degree", 0}, {"include_bias", false}}); }),
            "PolynomialFeatures: degree is 0, must be above 0 without include_bias");
}

TEST_F(PreprocessingTest, RefusesPolynomialsOfTooManyColumns) {
  const testing::Data wide = testing::make_data(2, 100, 2);
  testing::Loaded<double> loaded(ctx_.device, wide);
  const auto estimator = made("PolynomialFeatures", {{"degree", 9}});
  EXPECT_EQ(message_of([&] {
              estimator->fit(ctx_, loaded.all(), loaded.target());
            }).rfind("PolynomialFeatures: 100 columns of degree up to 9", 0),
            0u);
}

TEST_F(PreprocessingTest, SelectedColumnsKeepTheirAffineMapUnread) {
  const Samples<double> X = loaded_.all().then({1, 10}, {2, 0.5});
  const auto estimator = made("VarianceThreshold", {{"threshold", 10}});
  estimator->fit(ctx_, X, loaded_.target());
  const Samples<double> kept = dynamic_cast<const Transformer<double>&>(*estimator).transform(ctx_, X);
  EXPECT_TRUE(kept.is_affine());
  EXPECT_EQ(host_values(ctx_, kept), (std::vector<double>{0, 5, 10, 15}));
}

struct Minimum {
  double at;
  int calls;
};
template <class F>
Minimum found_by(Search<double> search, F&& f) {
  int calls = 0;
  for (; !search.done(); ++calls) search.tell(f(search.asked()));
  return {search.found(), calls};
}

// scipy.optimize.fminbound(f, low, high, xtol=1.48e-8) and brent(f, brack=(-2, 2)) of SciPy 1.17.1, with the calls that they
// make.
TEST(ScalarSearch, TakesTheStepsOfScipy) {
  const auto quartic = [](double x) { return (x - 0.3) * (x - 0.3) + 0.1 * x * x * x * x; };
  const auto wave = [](double x) { return std::cosh(x - 1.7) - std::sin(3 * x); };
  constexpr double kTolerance = 1.48e-8;
  const Minimum a = found_by(minimize_within(-2, 3, kTolerance), quartic), b = found_by(minimize_within(-4, 5, kTolerance), wave);
  const Minimum c = found_by(minimize_from(-2, 2, kTolerance), quartic), d = found_by(minimize_from(-2, 2, kTolerance), wave);
  EXPECT_NEAR(a.at, 0.29487219699481815, kSameSteps);
  EXPECT_EQ(a.calls, 11);
  EXPECT_NEAR(b.at, 2.5154027295136316, kSameSteps);
  EXPECT_EQ(b.calls, 13);
  EXPECT_NEAR(c.at, 0.29487219545301563, kSameSteps);
  EXPECT_EQ(c.calls, 16);
  EXPECT_NEAR(d.at, 0.6645050741577324, kSameSteps);
  EXPECT_EQ(d.calls, 16);
}

// scipy.special.fdtrc and chdtrc, SciPy 1.17.1.
TEST(TailProbabilities, AreThoseOfScipy) {
  const auto expect_close = [](double got, double expected) { EXPECT_NEAR(got, expected, kTail * expected); };
  expect_close(f_tail(2, 147, 49.16), 4.4921250435798135e-17);
  expect_close(f_tail(1, 8, 0.003), 0.9576630578407636);
  expect_close(f_tail(3, 10, 1000.0), 1.0941043955274876e-12);
  expect_close(f_tail(1, 439, 230.65), 3.6091675756243604e-42);
  expect_close(f_tail(4, 2, 1.0), 0.5555555555555556);
  expect_close(chi_squared_tail(2, 1e-3), 0.9995001249791693);
  expect_close(chi_squared_tail(9, 4.5), 0.8755390252983378);
  expect_close(chi_squared_tail(1, 30), 4.3204630578274955e-08);
  expect_close(chi_squared_tail(100, 250), 7.76693640353949e-15);
}

// Two groups far apart: an evenly spaced centre between them has no number, and takes the farthest one.
TEST(OneDimensionalMeans, FillAnEmptyCluster) {
  const std::vector<double> x{0, 1, 2, 100, 101};
  EXPECT_EQ(one_dimensional_means(x, {}, {0, 50, 100}), (std::vector<double>{0.5, 2, 100.5}));
}

}  // namespace
}  // namespace kedge::engine
