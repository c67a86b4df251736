// Parameter paths into ColumnTransformer and FeatureUnion.
#include "engine/estimators/composition/nested_params.h"

#include <gtest/gtest.h>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Step;
using schema::Value;

Step columns() {
  return {.estimator = "ColumnTransformer",
          .params = std::get<schema::ValueMap>(
              schema::value_from_json(R"({"transformers": [
                {"name": "num", "transformer": [{"estimator": "SimpleImputer"}, {"estimator": "StandardScaler"},
                                                {"estimator": "PCA", "name": "reduce"}], "columns": ["age"]},
                ["cat", {"estimator": "OneHotEncoder", "params": {"drop": "first"}}, ["sex"]], ["rest", "drop", ["id"]]]})")
                  .data)};
}

std::string params_after(const char* path, const Value& value) {
  Step step = columns();
  set_nested_param(step, path, value, "grid");
  return schema::to_string(step.params);
}

std::string refusal(const char* path) {
  try {
    params_after(path, 1);
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "grid");
    return error.message;
  }
  return "no error";
}

TEST(NestedParams, ReachAStepOfANestedPipelineByItsClassOrItsName) {
  EXPECT_NE(params_after("num__standardscaler__with_mean", false).find(R"({"estimator":"StandardScaler","params":{"with_mean":false}})"), std::string::npos);
  EXPECT_NE(params_after("num__reduce__n_components", 2).find(R"({"name":"reduce","estimator":"PCA","params":{"n_components":2}})"), std::string::npos);
}

TEST(NestedParams, ReachATransformerThatIsASingleStepAndKeepItsOtherParameters) {
  EXPECT_NE(params_after("cat__handle_unknown", "ignore").find(R"(["cat",{"estimator":"OneHotEncoder","params":{"drop":"first","handle_unknown":"ignore"}},["sex"]])"),
            std::string::npos);
}

TEST(NestedParams, ReplaceAWholeTransformerAStepOrTheRemainder) {
  EXPECT_NE(params_after("cat", "drop").find(R"(["cat","drop",["sex"]])"), std::string::npos);
  EXPECT_NE(params_after("num__simpleimputer", "passthrough").find(R"("transformer":["passthrough",{"estimator":"StandardScaler")"), std::string::npos);
  EXPECT_NE(params_after("remainder", "passthrough").find(R"("remainder":"passthrough")"), std::string::npos);
}

TEST(NestedParams, SetAPlainParameterOfTheStepItself) {
  EXPECT_NE(params_after("verbose_feature_names_out", false).find(R"("verbose_feature_names_out":false)"), std::string::npos);
}

TEST(NestedParams, GoThroughTransformersWithinTransformers) {
  Step outer{.estimator = "FeatureUnion", .params = {{"transformer_list", schema::ValueList{schema::Value(schema::ValueList{"a", schema::ValueMap{{"estimator", "ColumnTransformer"}, {"params", columns().params}}})}}}};
  set_nested_param(outer, "a__num__simpleimputer__strategy", "median", "grid");
  EXPECT_NE(schema::to_string(outer.params).find(R"({"estimator":"SimpleImputer","params":{"strategy":"median"}})"), std::string::npos);
}

TEST(NestedParams, RefuseWhatDoesNotExistWithTheNearestName) {
  EXPECT_EQ(refusal("nun__with_mean"), "ColumnTransformer has no transformer 'nun'; did you mean 'num'?");
  EXPECT_EQ(refusal("num__standartscaler__with_mean"), "the steps have no 'standartscaler'; did you mean 'standardscaler'?");
  EXPECT_EQ(refusal("rest__with_mean"), "'with_mean' is set, but the transformer is \"drop\" and has no parameters");
}

}  // namespace
}  // namespace kedge::engine
