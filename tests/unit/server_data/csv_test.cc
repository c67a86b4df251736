// CSV: quotes, line ends, missing cells, and columns whose type shows late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using testing::ElementsAre;

Parsed csv(std::string_view text) { return parse(parse_csv, text); }

TEST(Csv, DistinguishesNumericFromNominalColumns) {
  const Parsed p = csv("x,kind\n1,b\n2,a\n3,b\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNumeric);
  EXPECT_EQ(p.meta.columns[1].type, ColumnInfo::Type::kNominal);
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("a", "b"));
  EXPECT_THAT(p.values, ElementsAre(1, 1, 2, 0, 3, 1));
}

TEST(Csv, ReadsQuotesWithCommasLineFeedsAndQuotes) {
  const Parsed p = csv("a,\"b \"\"c\"\"\"\n\"x, y\",1\n\"two\nlines\",\"2\"\n\"say \"\"hi\"\"\",3\n");
  EXPECT_EQ(p.meta.columns[1].name, "b \"c\"");
  EXPECT_THAT(p.meta.columns[0].categories, ElementsAre("say \"hi\"", "two\nlines", "x, y"));
  EXPECT_THAT(p.values, ElementsAre(2, 1, 1, 2, 0, 3));
}

TEST(Csv, TakesByteOrderMarkCarriageReturnsAndNoLastLineFeed) {
  const Parsed p = csv("\xEF\xBB\xBFx,y\r\n1,2\r\n\r\n3,4");
  EXPECT_EQ(p.meta.columns[0].name, "x");
  EXPECT_THAT(p.values, ElementsAre(1, 2, 3, 4));
}

TEST(Csv, KnowsTheFormsOfAMissingCell) {
  const Parsed p = csv("x,c\n,a\nNA,\nnan,NaN\n?,?\n\"\",NA\n5,a\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNumeric);
  EXPECT_EQ(p.meta.columns[0].missing, 5);
  EXPECT_EQ(p.meta.columns[1].missing, 4);
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("a"));
  EXPECT_TRUE(std::isnan(p.at(0, 0)));
  EXPECT_EQ(p.at(5, 0), 5);
}

TEST(Csv, StaysNumericWithTheUsualTextsOfAMissingCell) {
  const Parsed p = csv("x,c\n1,a\nN/A,None\nNULL,b\n\"n/a\",null\n2.5,a\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNumeric);
  EXPECT_EQ(p.meta.columns[0].missing, 3);
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("None", "a", "b", "null"));   // which a job may take for missing or not
  EXPECT_TRUE(p.meta.types_are_guessed);
}

TEST(Csv, KeepsTheBlanksOfTextsSoThatClassesStayApart) {
  const Parsed p = csv("x, c\r\n1,a\r\n 2, a\r\n3,\"a\"\r\n4,a \r\n5, NA\r\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNumeric);
  EXPECT_EQ(p.meta.columns[1].name, "c");
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre(" a", "a", "a "));
  EXPECT_EQ(p.meta.columns[1].missing, 1);
}

TEST(Csv, TakesAnAllMissingColumnForNumeric) {
  const Parsed p = csv("x,y\n,1\nNA,2\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNumeric);
  EXPECT_EQ(p.meta.columns[0].missing, 2);
}

TEST(Csv, NamesANamelessColumn) { EXPECT_EQ(csv(",x\n1,2\n").meta.columns[0].name, "column_1"); }

TEST(Csv, HoldsNoRows) { EXPECT_EQ(csv("a,b\n").meta.n_rows, 0); }

std::string numbers(int n) {
  std::string rows;
  for (int i = 0; i < n; ++i) rows += std::to_string(i % 1000) + "," + std::to_string(i % 7) + "\n";
  return rows;
}

TEST(Csv, FindsATextAtTheVeryEndOfANumericColumn) {
  const Parsed p = csv("x,y\n" + numbers(400'000) + "late,0.1\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kNominal);
  EXPECT_EQ(p.meta.columns[0].categories.size(), 1001u);
  EXPECT_EQ(p.meta.columns[0].categories.back(), "late");
  EXPECT_EQ(p.at(400'000, 0), 1000);
  EXPECT_EQ(p.at(400'000, 1), 0.1);
  EXPECT_FALSE(p.meta.is_float32);
}

TEST(Csv, CountsOnlyNumericColumnsForTheWidth) { EXPECT_TRUE(csv("x,c\n1,0.1\n2,text\n").meta.is_float32); }

TEST(Csv, GivesTheSameForAnyNumberOfThreads) {
  std::string text = "x,\"y\"\n";
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + ",\"line\n" + std::to_string(i % 101) + "\"\n";
  const Parsed one = parse(parse_csv, text, 1), many = parse(parse_csv, text, 5);
  EXPECT_EQ(one.meta, many.meta);
  EXPECT_EQ(one.values, many.values);
  EXPECT_EQ(one.meta.n_rows, 300'000);
  EXPECT_EQ(one.meta.columns[1].categories.size(), 101u);
}

struct ErrorCase {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const ErrorCase& c, std::ostream* out) { *out << c.name; }

class CsvError : public testing::TestWithParam<ErrorCase> {};

TEST(Csv, BoundsTheNamesOfColumns) {
  const std::string most(1000, 'n');
  EXPECT_EQ(parse_error(parse_csv, "a," + most + "\n1,2\n"), "no error");
  EXPECT_EQ(parse_error(parse_csv, "a," + most + "n\n1,2\n"),
            "x line 1: column 2 ('" + std::string(40, 'n') + "...') has a name of 1001 bytes, must have at most 1000");
}

TEST_P(CsvError, NamesLineAndColumn) { EXPECT_EQ(parse_error(parse_csv, GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Kinds, CsvError,
    testing::Values(ErrorCase{"few", "a,b\n1,2\n3\n", "x line 3: 1 cells, but the header names 2 columns"},
                    ErrorCase{"many", "a,b\n1,2,3\n", "x line 2: more cells than the 2 columns of the header"},
                    ErrorCase{"open_quote", "a,b\n1,\"2\n3,4\n", "x line 2: column 2 ('b'): a quote is not closed or is out of place"},
                    ErrorCase{"inner_quote", "a,b\n1,2\"3\n", "x line 2: column 2 ('b'): a quote is not closed or is out of place"},
                    ErrorCase{"twice", "a,a\n1,2\n", "x line 1: column 'a' is named twice"},
                    ErrorCase{"empty", "", "x line 1: the header line with the column names is missing"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kedge::server
