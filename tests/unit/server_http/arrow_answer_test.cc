// Which form of a table a client gets, with kedge-arrow and without.
#include "server/api/arrow_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "schemas/error.h"

namespace kedge::server::api {
namespace {

using testing::HasSubstr;

constexpr std::string_view kCsv = "text/csv", kNpy = "application/x-npy";

http::Request asking_for(std::string accept) {
  http::Request request;
  if (!accept.empty()) request.fields.emplace_back("Accept", std::move(accept));
  return request;
}

std::string_view chosen(std::string accept, bool has_arrow = true) {
  return negotiate_table(asking_for(std::move(accept)), {kCsv, kNpy}, has_arrow);
}

schema::Error refusal(std::string accept, bool has_arrow) {
  try {
    chosen(std::move(accept), has_arrow);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(TableForms, AreTheirOwnUnlessTheClientNamesAnother) {
  for (const char* const any : {"", "*/*", "text/csv", "text/html, */*;q=0.8", "application/*;q=0.5, text/*"})
    EXPECT_EQ(chosen(any), kCsv) << any;
  EXPECT_EQ(chosen("application/x-npy"), kNpy);
  EXPECT_EQ(chosen("application/*"), kNpy);
}

TEST(TableForms, OfArrowAreChosenByTheirNames) {
  for (const std::string_view type : {kParquet, kArrowFile, kArrowStream}) EXPECT_EQ(chosen(std::string(type)), type);
  EXPECT_EQ(chosen("text/csv;q=0.9, application/vnd.apache.parquet"), kParquet);
  EXPECT_EQ(chosen("text/csv, application/vnd.apache.parquet;q=0.9"), kCsv);
  EXPECT_EQ(chosen("application/vnd.apache.arrow.stream;q=0.5, application/vnd.apache.arrow.file;q=0.6"), kArrowFile);
}

TEST(TableForms, WithoutTheProgramAreTheOthersThatTheClientTakes) {
  EXPECT_EQ(chosen("application/vnd.apache.parquet, text/csv;q=0.1", false), kCsv);
  EXPECT_EQ(chosen("application/vnd.apache.parquet, */*;q=0.1", false), kCsv);
}

TEST(TableForms, WithoutTheProgramAreRefusedInWords) {
  const schema::Error error = refusal("application/vnd.apache.parquet", false);
  EXPECT_EQ(error.code, schema::ErrorCode::kNotAcceptable);
  EXPECT_EQ(error.where, "Accept");
  EXPECT_THAT(error.message, HasSubstr("Parquet and Arrow answers need kedge-arrow"));
  EXPECT_THAT(error.message, HasSubstr("./run.sh arrow"));
}

TEST(TableForms, ThatNobodyMakesAreRefusedWithTheList) {
  const schema::Error with = refusal("image/png", true), without = refusal("image/png", false);
  EXPECT_EQ(with.code, schema::ErrorCode::kNotAcceptable);
  EXPECT_THAT(with.message, HasSubstr("application/vnd.apache.parquet"));
  EXPECT_THAT(without.message, HasSubstr("there is only text/csv, application/x-npy"));
  EXPECT_EQ(refusal("application/vnd.apache.parquet;q=0", true).code, schema::ErrorCode::kNotAcceptable);
}

TEST(TableForms, HaveEndingsOfTheirOwn) {
  EXPECT_EQ(arrow_ending(*arrow_form(kParquet)), ".parquet");
  EXPECT_EQ(arrow_ending(*arrow_form(kArrowFile)), ".arrow");
  EXPECT_EQ(arrow_ending(*arrow_form(kArrowStream)), ".arrows");
  EXPECT_FALSE(arrow_form("text/csv"));
}

}   // namespace
}   // namespace kedge::server::api
