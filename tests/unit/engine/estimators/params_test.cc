// Declared parameters: parsing, bounds, messages, catalogue entry, JSON Schema.
#include "engine/core/params.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;

struct Params {
  std::int64_t n_estimators = 100;
  double C = 1.0;
  bool bootstrap = true;
  std::string criterion = "gini";
  std::optional<std::int64_t> max_depth;
  std::optional<double> share = 0.5;
  Value max_features = "sqrt";
  Value priors;
  std::optional<std::int64_t> random_state;
};

const ParamSet<Params>& param_set() {
  static const ParamSet<Params> set =
      ParamSet<Params>("RandomForestClassifier")
          .add("n_estimators", &Params::n_estimators, between(1, 1e6), "Number of trees.")
          .add("C", &Params::C, above(0), "Strength.")
          .add("bootstrap", &Params::bootstrap, "Draw rows.")
          .add("criterion", &Params::criterion, {"gini", "entropy"}, "Impurity.")
          .add("max_depth", &Params::max_depth, at_least(1), "Depth.")
          .add("share", &Params::share, inside(0, 1), "Share.")
          .any("max_features", &Params::max_features,
               {string_form({"sqrt", "log2"}), integer_form(at_least(1)), number_form(above_up_to(0, 1)), null_form()}, "Columns.")
          .any("priors", &Params::priors, {array_form(), null_form()}, "Priors.")
          .random_state(&Params::random_state)
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

schema::Error error_of(const ValueMap& values) {
  try {
    param_set().parse(values);
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "no error"};
}

TEST(Params, TakeIntegersAsFarAsADoubleCountsThem) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1;
  EXPECT_EQ(param_set().parse({{"max_depth", kMost}}).max_depth, kMost);
  EXPECT_EQ(param_set().parse({{"max_depth", 0x1p53 - 1}}).max_depth, kMost);
  for (const Value& huge : {Value(kMost + 1), Value(kMost + 2), Value(std::int64_t{1} << 62), Value(0x1p62), Value(1e300)}) {
    const schema::Error error = error_of({{"max_depth", huge}});
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_NE(error.message.find("must be between -2^53 and 2^53"), std::string::npos) << error.message;
  }
  EXPECT_NE(error_of({{"n_estimators", 1e300}}).message.find("at most 1000000"), std::string::npos);
}

TEST(Params, KeepTheMembersInitialisersForWhatIsNotSet) {
  const Params params = param_set().parse({});
  EXPECT_EQ(params.n_estimators, 100);
  EXPECT_EQ(params.criterion, "gini");
  EXPECT_EQ(params.max_depth, std::nullopt);
  EXPECT_EQ(params.max_features, Value("sqrt"));
}

TEST(Params, TakeWhatIsSet) {
  const Params params = param_set().parse({{"n_estimators", 7}, {"C", 2}, {"bootstrap", false}, {"criterion", "entropy"},
                                           {"max_depth", 3}, {"share", nullptr}, {"random_state", 42}, {"n_jobs", -1}});
  EXPECT_EQ(params.n_estimators, 7);
  EXPECT_EQ(params.C, 2.0);
  EXPECT_FALSE(params.bootstrap);
  EXPECT_EQ(params.criterion, "entropy");
  EXPECT_EQ(params.max_depth, 3);
  EXPECT_EQ(params.share, std::nullopt);
  EXPECT_EQ(params.random_state, 42);
}

TEST(Params, TakeAWholeDoubleForAnInteger) { EXPECT_EQ(param_set().parse({{"n_estimators", 200.0}}).n_estimators, 200); }

TEST(Params, TellOneFromOnePointZeroInAUnion) {
  EXPECT_EQ(param_set().parse({{"max_features", 1}}).max_features, Value(1));
  EXPECT_EQ(param_set().parse({{"max_features", 1.0}}).max_features, Value(1.0));
}

TEST(Params, RefuseANumberOutOfBoundsByNameValueAndBound) {
  const schema::Error error = error_of({{"n_estimators", 0}});
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.message, "RandomForestClassifier: n_estimators is 0, must be at least 1 and at most 1000000");
  EXPECT_EQ(error.where, "params.n_estimators");
  EXPECT_EQ(error_of({{"n_estimators", -1}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error_of({{"C", 0}}).message, "RandomForestClassifier: C is 0, must be above 0");
}

TEST(Params, RefuseAHugeDoubleByItsBound) {
  EXPECT_EQ(error_of({{"n_estimators", 1e12}}).message,
            "RandomForestClassifier: n_estimators is 1000000000000, must be at least 1 and at most 1000000");
  EXPECT_EQ(error_of({{"n_estimators", 1e300}}).code, ErrorCode::kInvalidValue);
}

TEST(Params, RefuseAnotherTypeAsAWrongType) {
  const schema::Error error = error_of({{"n_estimators", "many"}});
  EXPECT_EQ(error.code, ErrorCode::kWrongType);
  EXPECT_EQ(error.message,
            "RandomForestClassifier: n_estimators is \"many\", must be an integer at least 1 and at most 1000000");
  EXPECT_EQ(error_of({{"n_estimators", 1.5}}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({{"n_estimators", true}}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({{"n_estimators", nullptr}}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({{"bootstrap", 1}}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({{"priors", schema::ValueList{"a"}}}).code, ErrorCode::kWrongType);
}

TEST(Params, ListTheChoicesOfAString) {
  const schema::Error error = error_of({{"criterion", "ginny"}});
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.message, "RandomForestClassifier: criterion is \"ginny\", must be \"gini\", \"entropy\"");
}

TEST(Params, ListTheFormsOfAUnion) {
  EXPECT_EQ(error_of({{"max_features", 0}}).message,
            "RandomForestClassifier: max_features is 0, must be \"sqrt\", \"log2\", an integer at least 1, "
            "a number above 0 and at most 1 or null");
  EXPECT_EQ(error_of({{"max_features", 1.5}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error_of({{"max_features", true}}).code, ErrorCode::kWrongType);
}

TEST(Params, SuggestTheNearestNameForAnUnknownOne) {
  const schema::Error error = error_of({{"n_estimator", 3}});
  EXPECT_EQ(error.code, ErrorCode::kUnknownParameter);
  EXPECT_EQ(error.message, "RandomForestClassifier has no parameter \"n_estimator\"; did you mean \"n_estimators\"?");
  EXPECT_EQ(error.where, "params.n_estimator");
}

TEST(Params, BoundTheSeed) {
  EXPECT_EQ(param_set().parse({{"random_state", 4294967295}}).random_state, 4294967295);
  EXPECT_EQ(error_of({{"random_state", 4294967296}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error_of({{"random_state", -1}}).code, ErrorCode::kInvalidValue);
}

TEST(Params, CheckWhatTheyIgnore) { EXPECT_EQ(error_of({{"n_jobs", "all"}}).code, ErrorCode::kWrongType); }

TEST(Params, DescribeThemselvesForTheCatalogue) {
  const auto& infos = param_set().infos();
  ASSERT_EQ(infos.size(), 10u);
  EXPECT_EQ(infos[0].name, "n_estimators");
  EXPECT_EQ(infos[0].defaultValue, Value(100));
  EXPECT_EQ(infos[4].defaultValue, Value());
  EXPECT_EQ(infos[4].forms, (std::vector<schema::ParamForm>{integer_form(at_least(1)), null_form()}));
}

TEST(Params, WriteJsonSchema) {
  const schema::EstimatorInfo info{.name = "E", .doc = "Doc.", .params = {param_set().infos()[1], param_set().infos()[6]}};
  const std::string text = schema::to_string(json_schema(info));
  EXPECT_NE(text.find(R"("C":{"type":"number","exclusiveMinimum":0)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("anyOf":[{"type":"string","enum":["sqrt","log2"]},{"type":"integer","minimum":1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("additionalProperties":false)"), std::string::npos) << text;
}

TEST(Params, ReadNumbersFromFlatAndOrdinaryLists) {
  EXPECT_EQ(numbers_of(schema::ValueList{1, 2.5}), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(numbers_of(std::vector<double>{3}), (std::vector<double>{3}));
  EXPECT_EQ(numbers_of(Value(1)), std::nullopt);
}

// Lists of other things than numbers, objects with known keys, and NaN.
struct ListParams {
  Value names, parts, missing = "NaN";
};

const ParamSet<ListParams>& list_params() {
  static const ParamSet<ListParams> set =
      ParamSet<ListParams>("Lister")
          .any("names", &ListParams::names, {array_form({string_form(), integer_form(at_least(0)), null_form()}), null_form()}, "Names.")
          .any("parts", &ListParams::parts,
               {array_form({object_form({{"name", "Its name.", {}, {string_form()}}, {"note", "A note.", {}, {string_form(), null_form()}}})}),
                null_form()},
               "Parts.")
          .any("missing", &ListParams::missing, {nan_form(), number_form()}, "Missing.");
  return set;
}

schema::Error list_error_of(const ValueMap& values) {
  try {
    list_params().parse(values);
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "no error"};
}

TEST(Params, TakeAListWhoseElementsHaveOneOfSeveralForms) {
  EXPECT_EQ(list_params().parse({{"names", schema::ValueList{"a", 2.0, nullptr}}}).names, Value(schema::ValueList{"a", 2, nullptr}));
  EXPECT_EQ(list_params().parse({{"names", std::vector<double>{1, 2}}}).names, Value(schema::ValueList{1, 2}));
}

TEST(Params, RefuseAListWithAnElementOfAnotherForm) {
  const schema::Error error = list_error_of({{"names", schema::ValueList{"a", true}}});
  EXPECT_EQ(error.code, ErrorCode::kWrongType);
  EXPECT_EQ(error.message, "Lister: names is [\"a\",true], must be a list of strings, integers at least 0 or null or null");
  EXPECT_EQ(list_error_of({{"names", schema::ValueList{-1}}}).code, ErrorCode::kInvalidValue);
}

TEST(Params, HoldNanAsItsName) {
  EXPECT_EQ(list_params().parse({{"missing", std::nan("")}}).missing, Value("NaN"));
  EXPECT_EQ(list_params().parse({{"missing", "NaN"}}).missing, Value("NaN"));
  EXPECT_EQ(list_params().parse({{"missing", -1}}).missing, Value(-1.0));
}

TEST(Params, DescribeElementsAndKeysInJsonSchema) {
  const std::string text = schema::to_string(json_schema({.name = "Lister", .params = list_params().infos()}));
  EXPECT_NE(text.find(R"("items":{"anyOf":[{"type":"string"},{"type":"integer","minimum":0.0},{"type":"null"}]})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("required":["name"],"additionalProperties":false)"), std::string::npos) << text;
}

}  // namespace
}  // namespace kedge::engine
