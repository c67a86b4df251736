// Formulas: what they refuse, and what FunctionTransformer makes of numbers where rounding shows.
#include "engine/estimators/preprocessing/formula.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/estimators/catalogue.h"
#include "fixture.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ValueList;
using schema::ValueMap;
using testing::Data;

std::string refusal(std::string_view text) {
  try {
    Formula::parsed(text);
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kInvalidValue);
    return error.message;
  }
  return "it was not refused";
}

TEST(Formula, NamesThePlaceOfWhatIsNotInTheLanguage) {
  EXPECT_EQ(refusal(""), "a value is missing at character 1");
  EXPECT_EQ(refusal("x + * 2"), "'*' is no value at character 5");
  EXPECT_EQ(refusal("x ** ** 2"), "'*' is no value at character 6");
  EXPECT_EQ(refusal("x.real"), "'.' is not expected at character 2");
  EXPECT_EQ(refusal("x[0]"), "'[' is not expected at character 2");
  EXPECT_EQ(refusal("sqr(x)"), "there is no function 'sqr'; did you mean 'sqrt'? at character 1");
  EXPECT_EQ(refusal("min(x)"), "',' is missing before ')' at character 6");
  EXPECT_EQ(refusal("log(x, 2)"), "')' is missing before ',' at character 6");
  EXPECT_EQ(refusal("`x"), "the ` has no second one at character 1");
  EXPECT_EQ(refusal("x + 1e999"), "a number is missing or too large at character 5");
  EXPECT_EQ(refusal("2 ** 3"), "names no column");
  EXPECT_EQ(refusal(std::string("x\0y", 3)).substr(0, 1), "'");
}

TEST(Formula, IsBounded) {
  EXPECT_EQ(refusal(std::string(2000, ' ') + "x"), "is longer than 1000 characters");
  EXPECT_EQ(refusal(std::string(400, '(') + "x"), "is nested deeper than 24 levels");
  EXPECT_EQ(refusal(std::string(400, '-') + "x"), "is nested deeper than 24 levels");
  std::string sum = "x";
  for (int i = 0; i < 100; ++i) sum += "+x";
  EXPECT_EQ(refusal(sum), "has more than 100 values and operations");
}

TEST(Formula, ComputesWhatIsMadeOfNumbersAlone) {
  const Formula formula = Formula::parsed("x * (2 ** 3 - clip(9, 0, 1)) + -max(1, 2)");
  ASSERT_EQ(formula.nodes.size(), 5u);   // x, 7, *, -2, +
  EXPECT_EQ(formula.nodes[1].number, 7);
  EXPECT_EQ(formula.nodes[3].number, -2);
}

TEST(Formula, NamesEachColumnOnce) {
  const Formula formula = Formula::parsed("`Body mass (kg)` / `Body mass (kg)` + height_2");
  EXPECT_EQ(formula.columns, (std::vector<std::string>{"Body mass (kg)", "height_2"}));
}

std::vector<double> transformed(const std::string& device, const ValueMap& params, const std::vector<double>& column,
                                int* warnings = nullptr) {
  Context ctx{.device = testing::device_named(device)};
  if (warnings) ctx.emit = [&](const schema::EventBody&) { ++*warnings; };
  const Data data{.n_rows = static_cast<std::int64_t>(column.size()), .n_cols = 1, .X = column};
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto made = find_estimator("FunctionTransformer")->make_f64(params);
  made->fit(ctx, loaded.all(), {});
  return host_values(ctx, dynamic_cast<const Transformer<double>&>(*made).transform(ctx, loaded.all()));
}

class FunctionTransformerOn : public ::testing::TestWithParam<std::string> {};

TEST_P(FunctionTransformerOn, IsPreciseNearZero) {
  constexpr double kTolerance = 4e-16;   // of the value itself
  std::vector<double> column;
  for (double v = 1e-300; v < 0.9; v *= 97) column.push_back(v), column.push_back(-v);
  const std::vector<double> logs = transformed(GetParam(), {{"func", "log1p"}}, column);
  const std::vector<double> exps = transformed(GetParam(), {{"func", "expm1"}}, column);
  for (std::size_t i = 0; i < column.size(); ++i) {
    EXPECT_NEAR(logs[i] / std::log1p(column[i]), 1, kTolerance) << column[i];
    EXPECT_NEAR(exps[i] / std::expm1(column[i]), 1, kTolerance) << column[i];
  }
}

TEST_P(FunctionTransformerOn, GivesWhatNumpyGivesAtTheEnds) {
  const std::vector<double> ends = transformed(GetParam(), {{"func", "log1p"}}, {-1, -2, 0, 1e308});
  EXPECT_EQ(ends[0], -INFINITY);
  EXPECT_TRUE(std::isnan(ends[1]));
  EXPECT_EQ(ends[2], 0);
  EXPECT_DOUBLE_EQ(ends[3], std::log1p(1e308));
  EXPECT_EQ(transformed(GetParam(), {{"func", "1 / x"}}, {0, -4}), (std::vector<double>{INFINITY, -0.25}));
  EXPECT_EQ(transformed(GetParam(), {{"func", "x ** 0"}}, {0, -4}), (std::vector<double>{1, 1}));
  EXPECT_EQ(transformed(GetParam(), {{"func", "(x < 1) + 2 * (x >= 1) + 4 * (x <= 1) + 8 * (x > 1) + 16 * (1 > x)"}},
                        {0, 1, 2}),
            (std::vector<double>{21, 6, 10}));
}

INSTANTIATE_TEST_SUITE_P(Devices, FunctionTransformerOn, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

TEST(FunctionTransformer, WarnsOfAnInverseThatIsNone) {
  int warnings = 0;
  transformed("cpu", {{"func", "log1p"}, {"inverse_func", "expm1"}}, {0, 1, 2}, &warnings);
  EXPECT_EQ(warnings, 0);
  transformed("cpu", {{"func", "log1p"}, {"inverse_func", "exp"}}, {0, 1, 2}, &warnings);
  EXPECT_EQ(warnings, 1);
  transformed("cpu", {{"func", "log1p"}, {"inverse_func", "exp"}, {"check_inverse", false}}, {0, 1, 2}, &warnings);
  EXPECT_EQ(warnings, 1);
  transformed("cpu", {{"func", ValueList{"a = x0 + 1"}}, {"inverse_func", ValueList{"x0 = a - 1"}}}, {0, 1, 2},
              &warnings);
  EXPECT_EQ(warnings, 1);
}

}   // namespace
}   // namespace kedge::engine
