// IsotonicRegression beyond the golden values: what it refuses, warns of, and does at the ends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/linear/isotonic_curve.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::ValueMap;
using testing::Data;

Data column(std::vector<double> x, std::vector<double> y) {
  const auto n = static_cast<std::int64_t>(x.size());
  return {.n_rows = n, .n_cols = 1, .X = std::move(x), .values = std::move(y)};
}

struct Fit {
  Fit(const ValueMap& params, const Data& data, std::vector<double> weights = {})
      : loaded(testing::device_named("cpu"), data) {
    ctx.emit = [this](schema::EventBody) { ++events; };
    estimator = find_estimator("IsotonicRegression")->make_f64(params);
    estimator->fit(ctx, loaded.all(), {.values = data.values, .weights = std::move(weights)});
  }
  std::vector<double> predict(const std::vector<double>& x) const {
    const Data asked = column(x, {});
    const testing::Loaded<double> rows(testing::device_named("cpu"), asked);
    return dynamic_cast<const Regressor<double>&>(*estimator).predict(ctx, rows.all());
  }
  testing::Loaded<double> loaded;
  Context ctx{.device = testing::device_named("cpu")};
  int events = 0;
  std::unique_ptr<Estimator<double>> estimator;
};

std::string refusal(const auto& work) {
  try {
    work();
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    return error.message;
  }
  return "it was not refused";
}

TEST(IsotonicRegression, GivesNothingBeyondItsRowsUnlessItClips) {
  const Data data = column({1, 2, 3}, {1, 5, 6});
  const std::vector<double> open = Fit({}, data).predict({0.5, 1, 2.5, 4});
  EXPECT_TRUE(std::isnan(open[0]) && std::isnan(open[3]));
  EXPECT_EQ(open[1], 1);
  EXPECT_EQ(open[2], 5.5);
  EXPECT_EQ(Fit({{"out_of_bounds", "clip"}}, data).predict({0.5, 4}), (std::vector<double>{1, 6}));
}

TEST(IsotonicRegression, NamesTheRowBeyondItsRows) {
  const Fit fit({{"out_of_bounds", "raise"}}, column({1, 2, 3}, {1, 5, 6}));
  EXPECT_EQ(
      refusal([&] { fit.predict({1, 2, 7}); }),
      "IsotonicRegression: row 2 (counted from 0) is 7, beyond the fitted values, which are 1 to 3; see out_of_bounds");
}

TEST(IsotonicRegression, IsAConstantOfOneValue) {
  EXPECT_EQ(Fit({}, column({2, 2}, {1, 4})).predict({-100, 100}), (std::vector<double>{2.5, 2.5}));
}

TEST(IsotonicRegression, WarnsWhereTheDirectionIsInDoubt) {
  EXPECT_EQ(Fit({{"increasing", "auto"}}, column({1, 2, 3, 4, 5}, {3, 1, 2, 5, 1})).events, 1);
  EXPECT_EQ(Fit({{"increasing", "auto"}}, column({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5})).events, 0);
}

TEST(IsotonicRegression, RefusesWeightsThatAreAllZero) {
  EXPECT_EQ(refusal([] { Fit({}, column({1, 2}, {1, 2}), {0, 0}); }),
            "IsotonicRegression: the sample weights are all 0");
}

TEST(IsotonicCurve, IsFiniteBetweenEndsThatAreFurtherApartThanADouble) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> x{-kMost, kMost}, y{0, 1};
  EXPECT_EQ(IsotonicCurve::fitted(x, y, {}).at(0), 0.5);
}

TEST(IsotonicCurve, LeavesOutWhatLiesBetweenPointsOfOneHeight) {
  const std::vector<double> x{1, 2, 3, 4, 5}, y{0, 4, 3, 2, 9};
  const IsotonicCurve curve = IsotonicCurve::fitted(x, y, {});
  EXPECT_EQ(curve.x, (std::vector<double>{1, 2, 4, 5}));
  EXPECT_EQ(curve.y, (std::vector<double>{0, 3, 3, 9}));
}

TEST(RankCorrelation, GivesEqualValuesTheirMeanRank) {
  const std::vector<double> x{1, 1, 2, 3}, y{1, 2, 2, 4};
  EXPECT_NEAR(rank_correlation(x, y), 0.8333333333333334, 1e-15);   // scipy.stats.spearmanr
  const std::vector<double> same{5, 5, 5, 5};
  EXPECT_TRUE(std::isnan(rank_correlation(same, y)));
}

}   // namespace
}   // namespace kedge::engine
