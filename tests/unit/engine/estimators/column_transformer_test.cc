// ColumnTransformer, FeatureUnion and the encoders on mixed tables: categories by name, missing cells, choice of columns, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/column_choice.h"
#include "fixture.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// age, sex (nominal, declared male before female), fare, port (nominal); two cells are missing.
Samples<double> passengers(const Context& ctx, bool other_order = false) {
  const double male = other_order ? 1 : 0, female = 1 - male;
  const std::vector<double> cells{20, male, 7, 2, kNan, female, 9, 0, 40, female, 8, kNan, 30, male, 8, 0};
  std::vector<Feature> features{{.name = "age"}, {"sex", {"male", "female"}, true}, {.name = "fare"}, {"port", {"S", "Q", "C"}, true}};
  if (other_order) features[1].categories = {"female", "male"};
  return samples_of(Matrix<double>(ctx.memory(), 4, 4, cells), features);
}

std::unique_ptr<Estimator<double>> make(const std::string& estimator, const std::string& params) {
  return find_estimator(estimator)->make_f64(std::get<ValueMap>(schema::value_from_json(params).data));
}

std::vector<double> transformed(const Context& ctx, const Estimator<double>& estimator, const Samples<double>& X) {
  return host_values(ctx, dynamic_cast<const Transformer<double>&>(estimator).transform(ctx, X));
}

std::string attribute(const Estimator<double>& estimator, const char* name) {
  const ValueMap map = estimator.attributes();
  const Value* value = find_value(map, name);
  return value ? schema::to_string(*value) : "no such attribute";
}

schema::Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "no error"};
}

class OnMixedTables : public ::testing::TestWithParam<std::string> {
 protected:
  Context ctx{.device = testing::device_named(GetParam())};
};

TEST_P(OnMixedTables, OneHotSortsNamesAndGivesMissingCellsAColumn) {
  const auto encoder = make("ColumnTransformer", R"({"transformers": [["c", {"estimator": "OneHotEncoder"}, ["port", "sex"]]]})");
  const Samples<double> X = passengers(ctx);
  encoder->fit(ctx, X, {});
  EXPECT_EQ(attribute(*encoder, "feature_names_out_"), R"(["c__port_C","c__port_S","c__port_nan","c__sex_female","c__sex_male"])");
  EXPECT_EQ(transformed(ctx, *encoder, X), (std::vector<double>{1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1}));
}

TEST_P(OnMixedTables, AnEncoderFindsCategoriesByNameInATableThatDeclaresThemInAnotherOrder) {
  const auto encoder = make("ColumnTransformer", R"({"transformers": [["c", {"estimator": "OrdinalEncoder"}, ["sex"]]]})");
  encoder->fit(ctx, passengers(ctx), {});
  EXPECT_EQ(transformed(ctx, *encoder, passengers(ctx, true)), transformed(ctx, *encoder, passengers(ctx)));
}

TEST_P(OnMixedTables, ImputesAndEncodesByType) {
  const auto transformer = make("ColumnTransformer", R"({"transformers": [
      {"name": "num", "transformer": {"estimator": "SimpleImputer"}, "columns": {"dtypeInclude": "number"}},
      {"name": "cat", "transformer": [{"estimator": "SimpleImputer", "params": {"strategy": "most_frequent"}},
                                      {"estimator": "OrdinalEncoder"}], "columns": {"dtypeExclude": "number"}}]})");
  const Samples<double> X = passengers(ctx);
  transformer->fit(ctx, X, {});
  EXPECT_EQ(transformed(ctx, *transformer, X), (std::vector<double>{20, 7, 1, 0, 30, 9, 0, 1, 40, 8, 0, 1, 30, 8, 1, 1}));
  EXPECT_EQ(attribute(*transformer, "output_indices_"), R"({"num":[0,2],"cat":[2,4]})");
  EXPECT_EQ(attribute(*transformer, "feature_names_out_"), R"(["num__age","num__fare","cat__sex","cat__port"])");
}

TEST_P(OnMixedTables, FillsCategoriesWithANewOne) {
  const auto transformer = make("ColumnTransformer", R"({"transformers": [["c", [{"estimator": "SimpleImputer", "params": {"strategy": "constant"}},
      {"estimator": "OneHotEncoder"}], ["port"]]]})");
  transformer->fit(ctx, passengers(ctx), {});
  EXPECT_EQ(attribute(*transformer, "feature_names_out_"), R"(["c__port_C","c__port_S","c__port_missing_value"])");
  EXPECT_THAT(attribute(*transformer, "named_transformers_"), ::testing::HasSubstr(R"("port_missing_value"],"n_features_in_":1}},"remainder":"drop"})"));
}

TEST_P(OnMixedTables, ChoosesByPatternAndPassesTheRestThrough) {
  const auto transformer = make("ColumnTransformer", R"({"transformers": [["f", {"estimator": "MinMaxScaler"}, {"pattern": "^fa"}]],
                                                         "remainder": "passthrough", "verbose_feature_names_out": false})");
  transformer->fit(ctx, passengers(ctx), {});
  const Samples<double> out = dynamic_cast<const Transformer<double>&>(*transformer).transform(ctx, passengers(ctx));
  EXPECT_EQ(attribute(*transformer, "feature_names_out_"), R"(["fare","age","sex","port"])");
  EXPECT_TRUE(out.table->features[2].is_nominal);
}

TEST_P(OnMixedTables, RefusesCategoriesWhereNumbersAreNeededNamingTransformerStepAndColumn) {
  const auto transformer = make("ColumnTransformer", R"({"transformers": [["all", {"estimator": "StandardScaler"}, ["sex"]]]})");
  const schema::Error error = error_of([&] { transformer->fit(ctx, passengers(ctx), {}); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.message.rfind("ColumnTransformer: 'all': StandardScaler: column 'sex' is nominal", 0), 0u) << error.message;
}

TEST_P(OnMixedTables, NamesTheUnknownCategory) {
  const auto encoder = make("ColumnTransformer", R"({"transformers": [["c", {"estimator": "OneHotEncoder"}, ["port"]]]})");
  Samples<double> some = passengers(ctx), X = passengers(ctx);
  some.rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), std::vector<std::int32_t>{1, 3});
  encoder->fit(ctx, some, {});
  const std::string message = error_of([&] { transformed(ctx, *encoder, X); }).message;
  EXPECT_EQ(message.rfind("ColumnTransformer: 'c': OneHotEncoder: column 'port' has the unknown category 'C' in row 0", 0), 0u) << message;
}

TEST_P(OnMixedTables, CopiesTheColumnsOfAPartOnceForAllFits) {
  const auto transformer = make("ColumnTransformer", R"({"transformers": [["n", {"estimator": "SimpleImputer"}, ["age", "fare"]]]})");
  const Samples<double> X = passengers(ctx);
  transformer->fit(ctx, X, {});
  const Table<double>* const part = X.table->parts.at(0).table.get();
  transformer->fit(ctx, X, {});
  transformed(ctx, *transformer, X);
  ASSERT_EQ(X.table->parts.size(), 1u);
  EXPECT_EQ(X.table->parts[0].table.get(), part);
}

INSTANTIATE_TEST_SUITE_P(Devices, OnMixedTables, ::testing::ValuesIn(testing::device_names()), [](const auto& info) { return info.param; });

struct Refusal {
  const char *params, *where;
  ErrorCode code;
};

TEST(ColumnTransformer, GivesErrorsInsideItsParametersTheirFullPath) {
  const Refusal refusals[] = {
      {R"({"transformers": [{"name": "a", "transformer": {"estimator": "StandardScaler", "params": {"with_mean": 3}}, "columns": [0]}]})",
       "params.transformers[0].transformer.params.with_mean", ErrorCode::kWrongType},
      {R"({"transformers": [["a", "drop", [0]], ["b", [{"estimator": "PCA"}, {"estimator": "PCA", "params": {"whitn": true}}], [0]]]})",
       "params.transformers[1][1][1].params.whitn", ErrorCode::kUnknownParameter},
      {R"({"transformers": [["a", {"estimator": "StandartScaler"}, [0]]]})", "params.transformers[0][1].estimator", ErrorCode::kUnknownEstimator},
      {R"({"transformers": [["a", {"estimator": "GaussianNB"}, [0]]]})", "params.transformers[0][1]", ErrorCode::kInvalidValue},
      {R"({"transformers": [["a", "keep", [0]]]})", "params.transformers[0][1]", ErrorCode::kInvalidValue},
      {R"({"transformers": [["a", "drop", [0]], ["a", "drop", [1]]]})", "params.transformers[1][0]", ErrorCode::kInvalidValue},
      {R"({"transformers": [["a__b", "drop", [0]]]})", "params.transformers[0][0]", ErrorCode::kInvalidValue},
      {R"({"transformers": [{"name": "a", "transformer": "drop"}]})", "params.transformers[0]", ErrorCode::kInvalidValue},
      {R"({"transformers": [{"name": "a", "transformer": "drop", "column": [0]}]})", "params.transformers[0].column", ErrorCode::kUnknownParameter},
      {R"({"transformers": [{"name": "a", "transformer": "drop", "columns": {"pattern": "("}}]})", "params.transformers[0].columns.pattern",
       ErrorCode::kInvalidValue},
      {R"({"transformers": [{"name": "a", "transformer": "drop", "columns": {"dtypeInclude": "float"}}]})",
       "params.transformers[0].columns.dtypeInclude", ErrorCode::kInvalidValue},
      {R"({"transformers": [{"name": "a", "transformer": "drop", "columns": "age"}]})", "params.transformers[0].columns", ErrorCode::kWrongType},
      {R"({"transformers": [["a", "drop", [1e12]]]})", "params.transformers[0][2]", ErrorCode::kInvalidValue},
      {R"({"transformer_weights": {"a": 2}})", "params.transformer_weights", ErrorCode::kInvalidValue},
      {R"({"remainder": {"estimator": "MinMaxScaler", "params": {"clip": 1}}})", "params.remainder.params.clip", ErrorCode::kWrongType},
  };
  for (const Refusal& refusal : refusals) {
    const schema::Error error = error_of([&] { make("ColumnTransformer", refusal.params); });
    EXPECT_EQ(error.where, refusal.where) << refusal.params << "\n" << error.message;
    EXPECT_EQ(error.code, refusal.code) << refusal.params << "\n" << error.message;
  }
}

std::vector<std::int64_t> matching(const std::string& pattern, const std::vector<std::string>& names) {
  std::vector<Feature> features;
  for (const std::string& name : names) features.push_back({.name = name});
  return ColumnChoice(schema::ValueMap{{"pattern", pattern}}, "columns").resolve("ColumnTransformer", features);
}

TEST(ColumnPattern, SaysWhatItDoesNotSupport) {
  const std::pair<const char*, const char*> patterns[] = {
      {"(?=a)b", "no lookahead and no lookbehind"}, {"a(?!b)", "no lookahead and no lookbehind"}, {"(?<=a)b", "no lookahead and no lookbehind"},
      {"(?<!a)b", "no lookahead and no lookbehind"}, {"(a)\\1", "no backreferences"},           {"(", "is no regular expression: "},
      {"(([^b]{1000}){10}){10}", "is no regular expression: "}};
  for (const auto& [pattern, words] : patterns) {
    const schema::Error error = error_of([&] { matching(pattern, {}); });
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue) << pattern;
    EXPECT_EQ(error.where, "columns.pattern") << pattern;
    EXPECT_THAT(error.message, ::testing::AllOf(::testing::HasSubstr(pattern), ::testing::HasSubstr(words)));
  }
}

TEST(ColumnPattern, FindsWhatItSays) {
  EXPECT_EQ(matching("^fa", {"fare", "afar", "fat"}), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(matching("(?i)age|\\d{2}$", {"AGE", "x12", "x1"}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(matching("", {"a", ""}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(matching("^.$", {"ä", "ab"}), (std::vector<std::int64_t>{0})) << "a character, not a byte";
}

// Neither the stack nor the time runs out, for a name of any length and any pattern.
TEST(ColumnPattern, EndsForHostilePatternsAndLongNames) {
  const std::string name(100'000, 'a');
  for (const char* pattern : {"(a*)*b", "(a|aa)+$", "^(a+)+$", "(.*a){12}b", "(x+x+)+y"}) {
    EXPECT_LE(matching(pattern, {name, name + "!"}).size(), 2u) << pattern;
  }
  EXPECT_EQ(matching("^(a|b|ab)*$", {name, name + "!"}), (std::vector<std::int64_t>{0}));
}

TEST(SimpleImputer, KeepsOrLeavesOutAColumnWithoutValues) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Samples<double> X = samples_of(Matrix<double>(ctx.memory(), 2, 2, std::vector<double>{kNan, 4, kNan, kNan}));
  for (const auto& [params, expected] : {std::pair{"{}", std::vector<double>{4, 4}},
                                         std::pair{R"({"keep_empty_features": true})", std::vector<double>{0, 4, 0, 4}}}) {
    const auto imputer = make("SimpleImputer", params);
    imputer->fit(ctx, X, {});
    EXPECT_EQ(transformed(ctx, *imputer, X), expected) << params;
  }
}

}  // namespace
}  // namespace kedge::engine
