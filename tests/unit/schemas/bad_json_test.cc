// What from_json refuses: each with its code, the path of the field, and words that help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/codec.h"

namespace kedge::schema {
namespace {

using testing::HasSubstr;

struct BadJson {
  const char* name;
  std::string text;
  ErrorCode code;
  std::string where;
  std::string hint;  // part of the message
};

void PrintTo(const BadJson& bad, std::ostream* out) {
  *out << bad.name;
}

// A good spec with one part replaced.
std::string spec(const std::string& dataset, const std::string& step = R"({"estimator":"PCA"})",
                 const std::string& task = R"({"fit":{}})", const std::string& more = "") {
  return R"({"dataset":)" + dataset + R"(,"pipeline":[{"estimator":"StandardScaler"},)" + step +
         R"(],"task":)" + task + more + "}";
}
const std::string kIris = R"({"builtin":"iris"})";
const std::string kPca = R"({"estimator":"PCA"})";
const std::string kFit = R"({"fit":{}})";

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}
std::string nested(int depth) {
  return repeat("[", depth) + repeat("]", depth);
}

const BadJson kBad[] = {
    {"empty", "", ErrorCode::kMalformed, "", "JSON"},
    {"blank", " \n ", ErrorCode::kMalformed, "", "JSON"},
    {"word", "hello", ErrorCode::kMalformed, "", "line 1, column 1: expected a value"},
    {"truncated", R"({"dataset":{"builtin":"ir)", ErrorCode::kMalformed, "", "ends too early"},
    {"truncated_object", R"({"dataset":{"builtin":"iris"})", ErrorCode::kMalformed, "", "ends too early"},
    {"missing_comma", "{\n  \"dataset\": {}\n  \"task\": {}}", ErrorCode::kMalformed, "",
     "line 3, column 3: expected ',' or '}'"},
    {"trailing_comma", R"({"dataset":{},})", ErrorCode::kMalformed, "", "column 15: expected a key in double quotes"},
    {"missing_colon", R"({"dataset" {}})", ErrorCode::kMalformed, "", "expected ':'"},
    {"mismatched_brackets", R"({"dataset":[1}})", ErrorCode::kMalformed, "", "expected ',' or ']'"},
    {"single_quotes", "{'dataset':1}", ErrorCode::kMalformed, "", "expected a key in double quotes"},
    {"trailing_text", spec(kIris) + " x", ErrorCode::kMalformed, "", "more text after the end"},
    {"two_documents", spec(kIris) + spec(kIris), ErrorCode::kMalformed, "", "more text after the end"},
    {"comment", "/* */ {}", ErrorCode::kMalformed, "", "expected a value"},
    {"leading_zero", spec(kIris, R"({"estimator":"PCA","params":{"a":01}})"), ErrorCode::kMalformed, "",
     "must not start with 0"},
    {"bare_fraction", spec(kIris, R"({"estimator":"PCA","params":{"a":1.}})"), ErrorCode::kMalformed, "",
     "expected a digit"},
    {"bare_minus", spec(kIris, R"({"estimator":"PCA","params":{"a":-}})"), ErrorCode::kMalformed, "",
     "expected a digit"},
    {"huge_number", spec(kIris, R"({"estimator":"PCA","params":{"a":1e999}})"), ErrorCode::kMalformed, "",
     "number too large"},
    {"huge_integer", spec(kIris, R"({"estimator":"PCA","params":{"a":99999999999999999999}})"), ErrorCode::kMalformed,
     "", "integer beyond 64 bits"},
    {"bare_nan", spec(kIris, R"({"estimator":"PCA","params":{"a":NaN}})"), ErrorCode::kMalformed, "",
     "expected a value"},
    {"control_character", "{\"a\nb\":1}", ErrorCode::kMalformed, "", "control character"},
    {"unknown_escape", R"({"\x41":1})", ErrorCode::kMalformed, "", "unknown escape"},
    {"short_unicode_escape", R"({"\u12":1})", ErrorCode::kMalformed, "", "four hexadecimal digits"},
    {"lone_surrogate", R"({"\ud800":1})", ErrorCode::kMalformed, "", "JSON"},
    {"bad_utf8", "{\"a\xff\":1}", ErrorCode::kMalformed, "", "UTF-8"},
    {"overlong_utf8", "{\"a\xc0\x80\":1}", ErrorCode::kMalformed, "", "UTF-8"},
    {"nul_byte", std::string("{}\0", 3), ErrorCode::kMalformed, "", "more text after the end"},
    {"too_deep", nested(65), ErrorCode::kMalformed, "", "deeper than 64"},
    {"far_too_deep", repeat("[", 100'000), ErrorCode::kMalformed, "", "deeper than 64"},
    {"value_too_deep", spec(kIris, R"({"estimator":"PCA","params":{"a":)" + nested(50) + "}}"), ErrorCode::kMalformed,
     "pipeline[1].params.a" + repeat("[0]", 49), "deeper than 48"},

    {"root_is_a_list", "[]", ErrorCode::kWrongType, "", "expected an object, got a list"},
    {"root_is_a_number", "5", ErrorCode::kWrongType, "", "expected an object, got the number 5"},
    {"nothing_given", "{}", ErrorCode::kInvalidValue, "dataset", "is required"},
    {"no_pipeline", R"({"dataset":{"builtin":"iris"},"task":{"fit":{}}})", ErrorCode::kInvalidValue, "pipeline",
     "is required"},
    {"no_task", R"({"dataset":{"builtin":"iris"},"pipeline":[]})", ErrorCode::kInvalidValue, "task", "is required"},
    {"no_estimator", spec(kIris, R"({"params":{}})"), ErrorCode::kInvalidValue, "pipeline[1].estimator", "is required"},
    {"no_name_of_a_generator", spec(R"({"generate":{}})"), ErrorCode::kInvalidValue, "dataset.generate.name",
     "is required"},

    {"unknown_field", spec(kIris, kPca, kFit, R"(,"devise":"cpu")"), ErrorCode::kUnknownField, "devise",
     "did you mean \"device\"?"},
    {"unknown_field_in_a_step", spec(kIris, R"({"estimator":"PCA","parms":{}})"), ErrorCode::kUnknownField,
     "pipeline[1].parms", "pipeline[1]: unknown field \"parms\"; did you mean \"params\"?"},
    {"unknown_field_without_a_near_name", spec(kIris, R"({"estimator":"PCA","somethingElse":{}})"),
     ErrorCode::kUnknownField, "pipeline[1].somethingElse", "known are estimator, params"},
    {"unknown_field_of_other_case", spec(kIris, kPca, R"({"crossvalidate":{}})"), ErrorCode::kUnknownField,
     "task.crossvalidate", "did you mean \"crossValidate\"?"},
    {"unknown_field_of_an_empty_struct", spec(kIris, kPca, R"({"fit":{"cv":5}})"), ErrorCode::kUnknownField,
     "task.fit.cv", "there are none"},
    {"unknown_dataset_kind", spec(R"({"opnml":{}})"), ErrorCode::kUnknownField, "dataset.opnml",
     "did you mean \"openml\"?"},
    {"unknown_long_key", "{\"" + repeat("k", 1000) + "\":1}", ErrorCode::kUnknownField, repeat("k", 64) + "...",
     "unknown field"},

    {"number_for_text", spec(kIris, R"({"estimator":5})"), ErrorCode::kWrongType, "pipeline[1].estimator",
     "expected a string, got the number 5"},
    {"object_for_bare_text", spec(R"({"builtin":{"name":"iris"}})"), ErrorCode::kWrongType, "dataset.builtin",
     "expected a string, got an object"},
    {"text_for_integer", spec(kIris, kPca, R"({"crossValidate":{"cv":"five"}})"), ErrorCode::kWrongType,
     "task.crossValidate.cv", "task.crossValidate.cv: expected an integer, got the string \"five\""},
    {"fraction_for_integer", spec(kIris, kPca, R"({"crossValidate":{"cv":2.5}})"), ErrorCode::kWrongType,
     "task.crossValidate.cv", "expected an integer, got the number 2.5"},
    {"integer_out_of_range", spec(kIris, kPca, R"({"crossValidate":{"cv":9223372036854775808}})"),
     ErrorCode::kInvalidValue, "task.crossValidate.cv", "must be below 2^63"},
    {"inexact_integer", spec(kIris, kPca, R"({"crossValidate":{"cv":1e17}})"), ErrorCode::kInvalidValue,
     "task.crossValidate.cv", "2^53"},
    {"null_for_integer", spec(kIris, kPca, R"({"crossValidate":{"cv":null}})"), ErrorCode::kWrongType,
     "task.crossValidate.cv", "got null"},
    {"bool_for_optional_integer", spec(kIris, kPca, R"({"crossValidate":{"randomState":true}})"), ErrorCode::kWrongType,
     "task.crossValidate.randomState", "got true"},
    {"number_for_bool", spec(kIris, kPca, R"({"crossValidate":{"shuffle":1}})"), ErrorCode::kWrongType,
     "task.crossValidate.shuffle", "expected true or false, got the number 1"},
    {"text_for_number", spec(kIris, kPca, kFit, R"(,"select":{"scale":"1"})"), ErrorCode::kWrongType, "select.scale",
     "expected a number"},
    {"text_for_list", spec(kIris, kPca, R"({"crossValidate":{"scoring":"accuracy"}})"), ErrorCode::kWrongType,
     "task.crossValidate.scoring", "expected a list, got the string"},
    {"number_in_a_list_of_texts", spec(kIris, kPca, R"({"crossValidate":{"scoring":["accuracy",1]}})"),
     ErrorCode::kWrongType, "task.crossValidate.scoring[1]", "expected a string"},
    {"list_for_params", spec(kIris, R"({"estimator":"PCA","params":[]})"), ErrorCode::kWrongType, "pipeline[1].params",
     "expected an object"},
    {"text_for_a_step", spec(kIris, R"("PCA")"), ErrorCode::kWrongType, "pipeline[1]", "expected an object"},
    {"text_for_a_task", spec(kIris, kPca, R"("fit")"), ErrorCode::kWrongType, "task", "expected an object"},
    {"null_for_a_task", spec(kIris, kPca, R"({"fit":null})"), ErrorCode::kWrongType, "task.fit",
     "expected an object, got null"},
    {"list_of_devices", spec(kIris, kPca, kFit, R"(,"device":["cpu"])"), ErrorCode::kWrongType, "device",
     "expected a string, got a list"},

    {"key_twice", spec(kIris, kPca, kFit, R"(,"task":{"fit":{}})"), ErrorCode::kInvalidValue, "task", "comes twice"},
    {"optional_key_twice", spec(kIris, kPca, kFit, R"(,"select":null,"select":{})"), ErrorCode::kInvalidValue, "select",
     "comes twice"},
    {"param_twice", spec(kIris, R"({"estimator":"PCA","params":{"a":1,"a":2}})"), ErrorCode::kInvalidValue,
     "pipeline[1].params.a", "comes twice"},
    {"key_twice_in_a_value", spec(kIris, R"({"estimator":"PCA","params":{"a":[{"b":1,"b":2}]}})"),
     ErrorCode::kInvalidValue, "pipeline[1].params.a[0].b", "comes twice"},
    {"two_datasets", spec(R"({"builtin":"iris","openml":{"id":61}})"), ErrorCode::kInvalidValue, "dataset.openml",
     "excludes \"builtin\""},
    {"two_tasks", spec(kIris, kPca, R"({"fit":{},"crossValidate":{}})"), ErrorCode::kInvalidValue, "task.crossValidate",
     "excludes \"fit\""},
    {"no_dataset_kind", spec("{}"), ErrorCode::kInvalidValue, "dataset", "needs one of openml, url, builtin, inline"},
    {"no_task_kind", spec(kIris, kPca, "{}"), ErrorCode::kInvalidValue, "task",
     "needs one of fit, fitScore, crossValidate"},
};

class RefusedSpec : public testing::TestWithParam<BadJson> {};

TEST_P(RefusedSpec, NamesCodeAndPlace) {
  try {
    from_json<JobSpec>(GetParam().text);
    FAIL() << "accepted: " << GetParam().text.substr(0, 500);
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code), error_code_name(GetParam().code)) << error.message;
    EXPECT_EQ(error.where, GetParam().where) << error.message;
    EXPECT_THAT(error.message, HasSubstr(GetParam().hint));
  }
}

INSTANTIATE_TEST_SUITE_P(Json, RefusedSpec, testing::ValuesIn(kBad),
                         [](const auto& info) { return std::string(info.param.name); });

template <class T>
Error refusal(std::string_view text) {
  try {
    from_json<T>(text);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "accepted"};
}

TEST(FromJson, SuggestsTheNearestEnumValue) {
  const Error error = refusal<Job>(R"({"id":"a","state":"runing"})");
  EXPECT_EQ(error, (Error{ErrorCode::kInvalidValue,
                          R"(state: unknown value "runing"; did you mean "running"?)", "state"}));
}

TEST(FromJson, RefusesANumberForAnEnum) {
  EXPECT_EQ(refusal<Job>(R"({"id":"a","state":1})").code, ErrorCode::kWrongType);
}

TEST(FromJson, RefusesAnEventWithoutBodyAndOneWithTwo) {
  EXPECT_EQ(refusal<Event>(R"({"id":1})").code, ErrorCode::kInvalidValue);
  EXPECT_EQ(refusal<Event>(R"({"id":1,"log":{},"timing":{}})").where, "timing");
}

TEST(FromJson, NamesTheItemOfANumberList) {
  EXPECT_EQ(refusal<Result>(R"({"scores":{"accuracy":{"perFold":[0.5,true]}}})").where,
            "scores.accuracy.perFold[1]");
}

TEST(FromJson, NamesTheEntryOfAMapOfMaps) {
  EXPECT_EQ(refusal<Result>(R"({"fitted":{"PCA":[]}})").where, "fitted.PCA");
  EXPECT_EQ(refusal<Result>(R"({"fitted":{"PCA":{},"PCA":{}}})").where, "fitted.PCA");
}

TEST(FromJson, ReadsIntegersWrittenAsWholeNumbers) {
  EXPECT_EQ(from_json<Result>(R"({"nSamples":1e12,"seed":-3.0})").nSamples, 1'000'000'000'000);
}

TEST(FromJson, RefusesASpecOfTooManyValuesBeforeItCostsMemory) {
  const std::string text =
      spec(kIris, R"({"estimator":"PCA","params":{"a":[)" + repeat("0,", 200'000) + "0]}}");
  EXPECT_EQ(refusal<JobSpec>(text).code, ErrorCode::kBodyTooLarge);
}

TEST(FromJson, CountsAnInlineCsvAsOneValue) {
  const std::string text = spec(R"({"inline":{"csv":"\"a\",b\n)" + repeat("1,2\\n", 200'000) + R"("}})");
  EXPECT_EQ(std::get<InlineRef>(from_json<JobSpec>(text).dataset.source).csv.size(), 6u + 800'000u);
}

TEST(FromJson, AcceptsDepth64) {
  EXPECT_EQ(refusal<JobSpec>(nested(64)).code, ErrorCode::kWrongType);
}

}  // namespace
}  // namespace kedge::schema
