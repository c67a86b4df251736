// Values as JSON text, error names, and the edit distance behind suggestions.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "schemas/codec.h"
#include "tests/unit/schemas/samples.h"

namespace kedge::schema {
namespace {

TEST(ValueJson, KeepsEveryKind) {
  const Value value = samples::values();
  EXPECT_EQ(value_from_json(value_to_json(value)), value);
  for (const Value& scalar : {Value(nullptr), Value(false), Value(-7), Value(0.1), Value("x")})
    EXPECT_EQ(value_from_json(value_to_json(scalar)), scalar);
}

TEST(ValueJson, KeepsIntegersAndDoublesApart) {
  EXPECT_EQ(value_from_json("200"), Value(200));
  EXPECT_EQ(value_from_json("200.0"), Value(200.0));
  EXPECT_EQ(value_from_json("1e12"), Value(1e12));
  EXPECT_EQ(value_from_json("9223372036854775807"), Value(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(value_from_json("18446744073709551615"), Value(18446744073709551616.0));
  EXPECT_EQ(to_string(Value(200.0)), "200.0");
  EXPECT_EQ(to_string(Value(200)), "200");
}

TEST(ValueJson, WritesDoublesThatReadBackToTheSameBits) {
  for (const double number :
       {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 1e22, -2.5e-7, 123456789012345680.0}) {
    EXPECT_EQ(value_from_json(to_string(Value(number))), Value(number)) << to_string(Value(number));
  }
  EXPECT_TRUE(std::signbit(std::get<double>(value_from_json(to_string(Value(-0.0))).data)));
}

TEST(ValueJson, WritesWholeNumbersAsShortAsTheyGo) {
  for (double number = -100010; number <= 100010; number += 1) {
    std::array<char, 32> buffer;
    std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
    if (text.find('e') == std::string::npos) text += ".0";
    ASSERT_EQ(to_string(Value(number)), text);
  }
}

TEST(ValueJson, WritesNanAndInfinityAsStrings) {
  EXPECT_EQ(to_string(Value(std::vector<double>{NAN, INFINITY, -INFINITY, 1})),
            R"(["NaN","Infinity","-Infinity",1.0])");
}

TEST(ValueJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(to_string(value_from_json(R"({ "b" : 1, "a" : [ ] , "c" : { } })")), R"({"b":1,"a":[],"c":{}})");
}

TEST(ValueJson, EscapesWhatJsonRequires) {
  EXPECT_EQ(to_string(Value(std::string("\"\\\n\r\t\0\x1f/é", 10))), "\"\\\"\\\\\\n\\r\\t\\u0000\\u001f/é\"");
}

TEST(ValueJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", "1 2", "[1,]", "{\"a\":1,\"a\":2}", "nul", "\"a", "[1] ]"})
    EXPECT_THROW(value_from_json(text), Error) << text;
}

TEST(ErrorCodes, HaveDistinctNamesAndHttpErrors) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kForbidden); ++code) {
    names.insert(error_code_name(static_cast<ErrorCode>(code)));
    EXPECT_GE(http_status(static_cast<ErrorCode>(code)), 400);
    EXPECT_LT(http_status(static_cast<ErrorCode>(code)), 600);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::kForbidden) + 1);
}

TEST(ErrorCodes, RefuseAnUnknownName) {
  try {
    error_code_from_name("NOT_FOND");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.message, "unknown error code \"NOT_FOND\"; did you mean \"NOT_FOUND\"?");
  }
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("n_estimator", "n_estimators"), 1u);
  EXPECT_EQ(edit_distance("PCA", "pca"), 0u);
}

TEST(EditDistance, DoesNotPayForLongText) {
  const std::string megabyte(1 << 20, 'x');
  EXPECT_EQ(edit_distance(megabyte, "cv"), megabyte.size());
}

TEST(NearestName, FindsTheNearestOrNone) {
  const std::array<std::string_view, 3> names{"n_estimators", "max_depth", "criterion"};
  EXPECT_EQ(nearest_name("n_estimater", names), "n_estimators");
  EXPECT_EQ(nearest_name("maxdepth", names), "max_depth");
  EXPECT_EQ(nearest_name("zzz", names), "");
}

}  // namespace
}  // namespace kedge::schema
