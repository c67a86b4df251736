// How a model is served: what may be set, what is kept on the disk, and how the rows of a question are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/models/serving_book.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;

constexpr auto kAll = [](const std::string&) { return true; };
constexpr auto kQuiet = [](std::string_view said) { ADD_FAILURE() << said; };

schema::Error refusal(std::string_view json) {
  try {
    serving_settings_of(json);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << json << " was taken";
  return {ErrorCode::kInternal, ""};
}

TEST(ServingSettings, ComeBackAsTheyWereWritten) {
  const ServingSettings settings{.max_batch_rows = 256, .max_delay_us = 500};
  EXPECT_EQ(serving_settings_of(schema::value_to_json(to_value(settings))), settings);
  EXPECT_EQ(serving_settings_of("{}"), ServingSettings());
}

// To JSON Schema, 64.0 is an integer.
TEST(ServingSettings, TakeWholeNumbersAsTheyAreWritten) {
  EXPECT_EQ(
      serving_settings_of(R"({"maxBatchRows": 64.0, "maxDelayUs": 2e3, "log": {"fraction": 1, "maxBytes": 8192.0}})"),
      serving_settings_of(R"({"maxBatchRows": 64, "maxDelayUs": 2000, "log": {"fraction": 1.0, "maxBytes": 8192}})"));
}

TEST(ServingSettings, NameTheFieldThatIsRefused) {
  for (const char* value : {"-1", "65537", "1.5", "1e300", "\"64\"", "null", "[]"}) {
    const schema::Error error = refusal(std::string("{\"maxBatchRows\": ") + value + "}");
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue) << value;
    EXPECT_EQ(error.where, "maxBatchRows") << value;
  }
  EXPECT_EQ(refusal(R"({"maxDelayUs": 100001})").where, "maxDelayUs");
  EXPECT_EQ(refusal(R"({"maxDelay": 1})").code, ErrorCode::kUnknownField);
  EXPECT_EQ(refusal(R"([])").code, ErrorCode::kMalformed);
}

TEST(ServingBook, OutlivesARestart) {
  const tests::TempDir dir;
  const ServingSettings settings{.max_batch_rows = 8, .max_delay_us = 100};
  ServingBook(dir / "serving", kAll, kQuiet).set("mdl_1", settings);
  const ServingBook again(dir / "serving", kAll, kQuiet);
  EXPECT_EQ(again.find("mdl_1"), settings);
  EXPECT_EQ(again.find("mdl_2"), ServingSettings());
}

TEST(ServingBook, ForgetsWhatNoModelHas) {
  const tests::TempDir dir;
  {
    ServingBook book(dir / "serving", kAll, kQuiet);
    book.set("mdl_1", {.max_batch_rows = 8}), book.set("mdl_2", {.max_batch_rows = 9});
    book.forget("mdl_1");
    EXPECT_EQ(book.find("mdl_1"), ServingSettings());
    EXPECT_FALSE(exists(dir / "serving" / "mdl_1.json"));
  }
  std::ofstream(dir / "serving" / "mdl_3.json.part") << "{\"maxB";   // a crash while it was written
  const ServingBook book(dir / "serving", [](const std::string& model) { return model != "mdl_2"; }, kQuiet);
  EXPECT_EQ(book.find("mdl_2"), ServingSettings());
  EXPECT_TRUE(is_empty(dir / "serving"));
}

TEST(ServingBook, ServesByTheDefaultsWhereItsFileIsDamaged) {
  const tests::TempDir dir;
  ServingBook(dir / "serving", kAll, kQuiet).set("mdl_1", {.max_batch_rows = 8});
  std::ofstream(dir / "serving" / "mdl_1.json") << "{\"maxB";
  std::ofstream(dir / "serving" / "mdl_2.json") << R"({"maxBatchRows": -1})";
  std::vector<std::string> said;
  ServingBook book(dir / "serving", kAll, [&](std::string_view line) { said.emplace_back(line); });
  EXPECT_EQ(book.find("mdl_1"), ServingSettings());
  EXPECT_THAT(said,
              testing::UnorderedElementsAre(
                  testing::AllOf(testing::StartsWith((dir / "serving" / "mdl_1.json").string() + " is damaged"),
                                 testing::HasSubstr("served by the defaults")),
                  testing::AllOf(testing::HasSubstr("mdl_2.json is damaged"), testing::HasSubstr("maxBatchRows"))));
  book.set("mdl_1", {.max_batch_rows = 9}), book.set("mdl_2", {.max_batch_rows = 9});
  EXPECT_EQ(ServingBook(dir / "serving", kAll, kQuiet).find("mdl_1").max_batch_rows, 9);
}

TEST(CountRows, CountsThoseOfEachForm) {
  EXPECT_EQ(count_rows("application/json", R"({"rows": [[1, 2], [3, 4], [5, 6]]})"), 3);
  EXPECT_EQ(count_rows("application/json", R"({"columns": ["a", "]["], "rows": [["[", "\\"["]]})"), 1);
  EXPECT_EQ(count_rows("application/json", R"([{"a": 1}, {"a": 2}])"), 2);
  EXPECT_EQ(count_rows("text/csv", "a,b\n1,2\r\n3,4\r\n"), 2);
  EXPECT_EQ(count_rows("text/csv; header=absent", "1,2\n3,4"), 2);
  EXPECT_EQ(count_rows("application/x-npy", "\x93NUMPY{'descr': '<f8', 'fortran_order': False, 'shape': (17, 4), }"),
            17);
  EXPECT_EQ(count_rows("application/json", "no JSON"), 1);
  EXPECT_EQ(count_rows("application/json", std::string(300 << 10, '[')), kManyRows);
}

}   // namespace
}   // namespace kedge::server
