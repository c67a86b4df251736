// Rows of a fit that a transformer treats otherwise than later rows: alone, nested, and before a predictor.
#include "engine/estimators/fit_transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/meta/nested_predictor.h"
#include "engine/estimators/preprocessing/target_statistics.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using testing::Data;

// Two columns of few categories; the target is their sum and the row's number in hundredths.
Data categories() {
  Data data{.n_rows = 60, .n_cols = 2};
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    const double a = static_cast<double>(i * 7 % 3), b = static_cast<double>(i * 11 % 5);
    data.X.push_back(a), data.X.push_back(b);
    data.values.push_back(a + b + 0.01 * static_cast<double>(i)), data.y.push_back(0);
  }
  return data;
}

Target values_of(const Data& data) {
  return {.values = data.values};
}

const ValueMap& encoder() {
  static const ValueMap step{{"estimator", "TargetEncoder"}, {"params", ValueMap{{"random_state", 1}}}};
  return step;
}

std::vector<double> fitted_rows(const Context& ctx, const ValueMap& step, const Samples<double>& X, const Target& y) {
  const auto* params = find_value(step, "params");
  const auto made = find_estimator(std::get<std::string>(find_value(step, "estimator")->data))
                        ->make_f64(std::get<ValueMap>(params->data));
  return host_values(ctx, fit_transformed(ctx, *made, X, y));
}

class FitTransformerOn : public ::testing::TestWithParam<std::string> {
 protected:
  Context ctx_{.device = testing::device_named(GetParam())};
  Data data_ = categories();
  testing::Loaded<double> loaded_{ctx_.device, data_};
};

TEST_P(FitTransformerOn, LetsNoRowSeeItsOwnTarget) {
  const std::vector<double> before = fitted_rows(ctx_, encoder(), loaded_.all(), values_of(data_));
  Data changed = data_;
  changed.values[17] += 1000;
  const std::vector<double> after = fitted_rows(ctx_, encoder(), loaded_.all(), values_of(changed));
  EXPECT_EQ(before[34], after[34]);
  EXPECT_EQ(before[35], after[35]);
  EXPECT_NE(before, after);   // others of its categories do
}

TEST_P(FitTransformerOn, IsTheSameWithinAColumnTransformerAndAUnion) {
  const std::vector<double> alone = fitted_rows(ctx_, encoder(), loaded_.all(), values_of(data_));
  const ValueMap columns{
      {"estimator", "ColumnTransformer"},
      {"params", ValueMap{{"transformers", ValueList{Value(ValueList{"all", encoder(), ValueList{0, 1}})}}}}};
  EXPECT_EQ(fitted_rows(ctx_, columns, loaded_.all(), values_of(data_)), alone);
  const ValueMap both{
      {"estimator", "FeatureUnion"},
      {"params", ValueMap{{"transformer_list", ValueList{Value(ValueList{"all", ValueList{encoder()}})}}}}};
  EXPECT_EQ(fitted_rows(ctx_, both, loaded_.all(), values_of(data_)), alone);
}

TEST_P(FitTransformerOn, FeedsTheNextStepOfANestedPipeline) {
  const ValueList steps{encoder(), ValueMap{{"estimator", "LinearRegression"}}};
  NestedPredictor<double> nested(steps, "params.estimator", NestedPredictor<double>::Kind::kRegressor);
  nested.fit(ctx_, "owner", loaded_.all(), values_of(data_));
  const Data encoded{.n_rows = 60, .n_cols = 2, .X = fitted_rows(ctx_, encoder(), loaded_.all(), values_of(data_))};
  const testing::Loaded<double> direct(ctx_.device, encoded);
  const auto line = find_estimator("LinearRegression")->make_f64({});
  line->fit(ctx_, direct.all(), values_of(data_));
  for (const auto& [name, value] : line->attributes()) {
    if (name != "coef_") continue;
    const ValueMap last = nested.last_attributes();
    EXPECT_EQ(schema::to_string(*find_value(last, name)), schema::to_string(value));
  }
}

TEST_P(FitTransformerOn, LeavesOtherTransformersAlone) {
  const auto scaler = find_estimator("StandardScaler")->make_f64({});
  EXPECT_EQ(own_fit_transform(*scaler), nullptr);
  const ValueMap scaled{{"estimator", "StandardScaler"}};
  const auto columns = find_estimator("ColumnTransformer")
                           ->make_f64({{"transformers", ValueList{Value(ValueList{"s", scaled, ValueList{0}})}}});
  EXPECT_EQ(own_fit_transform(*columns), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Devices, FitTransformerOn, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

TEST(TargetEncoder, SaysThatItHasNoTarget) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = categories();
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto made = find_estimator("TargetEncoder")->make_f64({});
  try {
    made->fit(ctx, loaded.all(), {});
    ADD_FAILURE() << "it was fitted";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    EXPECT_NE(error.message.find("got no target; target_type \"auto\" takes that of the last step"), std::string::npos)
        << error.message;
  }
}

TEST(TargetMoments, OfTwoGroupsTogetherAreThoseOfAllRows) {
  const std::vector<double> values{1e8, 1e8 + 1, 1e8 + 2, 1e8 + 5};
  const EncodedTarget y{.codes = {}, .values = values};
  const std::vector<std::int64_t> parts{0, 1, 1, 0}, all{0, 0, 0, 0};
  const auto two = moments_by_group(y, parts, 2);
  const TargetMoments both = two[0].with(two[1]), one = moments_by_group(y, all, 1)[0];
  EXPECT_EQ(both.count, 4);
  EXPECT_EQ(both.sum, one.sum);
  EXPECT_DOUBLE_EQ(both.squares, one.squares);   // 14, of numbers whose squares have 53 bits less
}

}   // namespace
}   // namespace kedge::engine
