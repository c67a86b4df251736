// ARFF: the odd things that files in the wild contain, and what is said of those that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <random>

#include "server/data/arff_stream.h"
#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using testing::ElementsAre;

constexpr const char* kTwoColumns = "@relation r\n@attribute x numeric\n@attribute c {a,b}\n@data\n";

std::string with_rows(const std::string& rows) {
  return kTwoColumns + rows;
}

Parsed arff(std::string_view text) {
  return parse(parse_arff, text);
}

TEST(Arff, ReadsNumbersAndCategories) {
  const Parsed p = arff(with_rows("1,a\n-2.5,b\n"));
  EXPECT_EQ(p.meta.n_rows, 2);
  EXPECT_TRUE(p.meta.is_float32);
  EXPECT_THAT(p.values, ElementsAre(1, 0, -2.5, 1));
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("a", "b"));
}

// Cells of one digit in a row are read four at a time, other integers eight characters at a time.
TEST(Arff, ReadsEveryNumberAsItIsWrittenInAnyPlace) {
  constexpr std::size_t kColumns = 21;
  const std::vector<std::string> cells = {"0",  "7",  "9",       "3",        "0",   "5",   "12", "255", "-1", " 4",
                                          "6 ", "+8", "1234567", "12345678", "0.5", "1e2", "-0", "/",   ":"};
  std::string header = "@relation r\n";
  for (std::size_t c = 0; c < kColumns; ++c)
    header += "@attribute x" + std::to_string(c) + (c == 13 ? " {0,7,'/',':'}\n" : " numeric\n");
  std::mt19937 draw(1);
  std::string rows;
  std::vector<double> expected;
  for (int row = 0; row < 2000; ++row) {
    const std::size_t kinds = row % 2 == 0 ? 6 : cells.size() - 2;   // every second row: one digit only
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::size_t kind = c == 13 ? std::array{0, 1, 17, 18}[draw() % 4] : draw() % kinds;
      rows += cells[kind] + (c + 1 == kColumns ? '\n' : ',');
      expected.push_back(c == 13 ? (kind < 2 ? kind : kind - 15) : std::strtod(cells[kind].c_str(), nullptr));
    }
  }
  EXPECT_EQ(arff(header + "@data\n" + rows).values, expected);
}

TEST(Arff, RefusesTheNeighboursOfDigitsInTheCharacterTable) {
  const std::string header =
      "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n@attribute d "
      "numeric\n@attribute e numeric\n@data\n";
  for (const char* row : {"1,2,/,4,5\n", "1,2,:,4,5\n", "1,2,3,4;5\n", "1-2,3,4,5\n", "1,2,3,4\n", "1,2,3,4,5,6\n"})
    EXPECT_NE(parse_error(parse_arff, header + row), "no error") << row;
}

TEST(Arff, TakesKeywordsInAnyCase) {
  const Parsed p = arff("@RELATION r\n@Attribute x REAL\n@ATTRIBUTE y Integer\n@Data\n1,2\n");
  EXPECT_THAT(p.values, ElementsAre(1, 2));
}

TEST(Arff, TakesQuotedNamesAndCategories) {
  const Parsed p = arff(
      "@relation 'r s'\n@attribute 'a b' numeric\n@attribute \"c'd\" { 'x, y' , \"z\", w }\n@data\n1,'x, "
      "y'\n2, z\n3,'w'\n");
  EXPECT_EQ(p.meta.columns[0].name, "a b");
  EXPECT_EQ(p.meta.columns[1].name, "c'd");
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("x, y", "z", "w"));
  EXPECT_THAT(p.values, ElementsAre(1, 0, 2, 1, 3, 2));
}

TEST(Arff, UnescapesQuotedValues) {
  const Parsed p = arff("@attribute c {'it\\'s','a\\\\b',\"t\\tb\",'\\u00e9'}\n@data\n\"it's\"\n'a\\\\b'\n't\\tb'\n\xC3\xA9\n");
  EXPECT_THAT(p.meta.columns[0].categories, ElementsAre("it's", "a\\b", "t\tb", "\xC3\xA9"));
  EXPECT_THAT(p.values, ElementsAre(0, 1, 2, 3));
}

TEST(Arff, CountsMissingCells) {
  const Parsed p = arff(with_rows("?,a\n3, ?\n,b\nNaN,a\n"));
  EXPECT_EQ(p.meta.columns[0].missing, 3);
  EXPECT_EQ(p.meta.columns[1].missing, 1);
  EXPECT_TRUE(std::isnan(p.at(0, 0)) && std::isnan(p.at(1, 1)) && std::isnan(p.at(2, 0)) && std::isnan(p.at(3, 0)));
}

TEST(Arff, TakesAQuotedQuestionMarkForACategory) {
  const Parsed p = arff("@attribute c {'?',b}\n@data\n'?'\n?\n");
  EXPECT_EQ(p.at(0, 0), 0);
  EXPECT_TRUE(std::isnan(p.at(1, 0)));
}

TEST(Arff, SkipsCommentsBlankLinesAndCarriageReturns) {
  const Parsed p = arff(
      "% c\r\n@relation r\r\n\r\n@attribute x numeric\r\n@attribute c {a, b}\r\n@data\r\n% c\r\n1,a\r\n\r\n  "
      "\r\n 2 ,\tb \r\n% end\r\n");
  EXPECT_THAT(p.values, ElementsAre(1, 0, 2, 1));
}

TEST(Arff, ReadsALastLineWithoutItsLineFeed) {
  EXPECT_THAT(arff(with_rows("1,a\n2,b")).values, ElementsAre(1, 0, 2, 1));
}

TEST(Arff, KeepsOnlyTheNamesOfStringsAndDates) {
  const Parsed p = arff(
      "@attribute s string\n@attribute d date 'yyyy-MM-dd'\n@attribute x numeric\n@data\n'a, "
      "\"b\"',2001-01-01,7\n?,?,8\n");
  EXPECT_EQ(p.meta.columns[0].type, ColumnInfo::Type::kString);
  EXPECT_EQ(p.meta.columns[0].values_column, -1);
  EXPECT_EQ(p.meta.columns[1].type, ColumnInfo::Type::kString);
  EXPECT_EQ(p.meta.columns[1].missing, 1);
  EXPECT_EQ(p.meta.n_values_columns, 1);
  EXPECT_THAT(p.values, ElementsAre(7, 8));
}

TEST(Arff, ReadsSparseRows) {
  const Parsed p = arff(
      "@attribute c {first,second}\n@attribute x numeric\n@attribute y numeric\n@data\n{0 second, 2 "
      "-1.5}\n{}\n{ 1 ?,2 3 }\n");
  EXPECT_EQ(p.at(0, 0), 1);
  EXPECT_EQ(p.at(0, 1), 0);
  EXPECT_EQ(p.at(0, 2), -1.5);
  EXPECT_EQ(p.at(1, 0), 0);
  EXPECT_TRUE(std::isnan(p.at(2, 1)));
  EXPECT_EQ(p.at(2, 2), 3);
  EXPECT_EQ(p.meta.columns[1].missing, 1);
}

TEST(Arff, KeepsRowsSparseWhereFewValuesAreThere) {
  std::string text = "@relation r\n";
  for (int j = 0; j < 20; ++j) text += "@attribute x" + std::to_string(j) + " numeric\n";
  const Parsed p = arff(text + "@attribute c {no,yes}\n% a comment\n@data\n\n{3 0.1, 20 yes}\n{}\n{0 2, 19 ?}\n");
  EXPECT_EQ(p.meta.n_entries, 4);
  EXPECT_EQ(p.meta.n_rows, 3);
  EXPECT_FALSE(p.meta.is_float32);
  EXPECT_EQ(p.at(0, 3), 0.1);
  EXPECT_EQ(p.at(0, 20), 1);
  EXPECT_EQ(p.at(1, 20), 0);
  EXPECT_EQ(p.at(2, 0), 2);
  EXPECT_TRUE(std::isnan(p.at(2, 19)));
  EXPECT_EQ(p.meta.columns[19].missing, 1);
}

TEST(Arff, CountsSparseRowsOfStringsAlone) {
  const Parsed p = arff("@relation r\n@attribute note string\n@data\n{0 a}\n{}\n{0 }\n");
  EXPECT_EQ(p.meta.n_rows, 3);
  EXPECT_EQ(p.meta.n_values_columns, 0);
}

struct NumberCase {
  const char* text;
  double value;
  bool is_float32;
};
void PrintTo(const NumberCase& c, std::ostream* out) {
  *out << c.text;
}

class ArffNumber : public testing::TestWithParam<NumberCase> {};

TEST_P(ArffNumber, IsReadExactlyAndInTheNarrowestType) {
  const Parsed p = arff(with_rows("1,a\n" + std::string(GetParam().text) + ",b\n"));
  EXPECT_EQ(p.at(1, 0), GetParam().value);
  EXPECT_EQ(p.meta.is_float32, GetParam().is_float32);
}

INSTANTIATE_TEST_SUITE_P(Forms, ArffNumber,
                         testing::Values(NumberCase{"0", 0, true}, NumberCase{"-7", -7, true}, NumberCase{"+7", 7, true},
                                         NumberCase{"9999999", 9999999, true}, NumberCase{"16777216", 16777216, true},
                                         NumberCase{"16777217", 16777217, false}, NumberCase{"0.1", 0.1, false},
                                         NumberCase{".5", 0.5, true}, NumberCase{"5.", 5, true}, NumberCase{"1e3", 1000, true},
                                         NumberCase{"1E-2", 0.01, false}, NumberCase{"'12'", 12, true},
                                         NumberCase{"0007", 7, true}, NumberCase{"123456789012", 123456789012.0, false},
                                         NumberCase{"1e300", 1e300, false}, NumberCase{"inf", INFINITY, true},
                                         NumberCase{"-Infinity", -INFINITY, true}));

struct ErrorCase {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const ErrorCase& c, std::ostream* out) {
  *out << c.name;
}

class ArffError : public testing::TestWithParam<ErrorCase> {};

TEST_P(ArffError, NamesLineAndColumn) {
  EXPECT_EQ(parse_error(parse_arff, GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ArffError,
    testing::Values(
        ErrorCase{"text", with_rows("1,a\nabc,b\n"), "x line 6: attribute 1 ('x'): 'abc' is not a number"},
        ErrorCase{"trailing", with_rows("1x,a\n"), "x line 5: attribute 1 ('x'): '1x' is not a number"},
        ErrorCase{"category", with_rows("1,a\n2,z"), "x line 6: attribute 2 ('c'): 'z' is not one of its declared categories"},
        ErrorCase{"few", with_rows("1\n"), "x line 5: 1 values, but 2 attributes are declared"},
        ErrorCase{"many", with_rows("1,a,3\n"), "x line 5: more than the 2 values of the declared attributes"},
        ErrorCase{"quote", with_rows("1,'a\n"),
                  "x line 5: attribute 2 ('c'): a quoted value does not end, or is followed by more text"},
        ErrorCase{"sparse_index", with_rows("{2 1}\n"), "x line 5: sparse index 2, but only 2 attributes are declared"},
        ErrorCase{"sparse_order", with_rows("{1 a, 0 1}\n"), "x line 5: sparse index 0 is not above the one before"},
        ErrorCase{"sparse_open", with_rows("{0 1\n"), "x line 5: a sparse row lacks its closing brace"},
        ErrorCase{"sparse_huge", with_rows("{1e300 1}\n"), "x line 5: sparse index 1e300, but only 2 attributes are declared"},
        ErrorCase{"sparse_later", with_rows("{0 1}\n\n% no\n{0 q}\n"), "x line 8: attribute 1 ('x'): 'q' is not a number"},
        ErrorCase{"no_data", "@relation r\n@attribute x numeric\n", "x line 3: the text ends before @data"},
        ErrorCase{"html", "<html>no</html>\n", "x line 1: '<html>no</html>' is not an ARFF declaration"},
        ErrorCase{"type", "@attribute x relational\n@data\n",
                  "x line 1: attribute 'x': type 'relational' is not known (numeric, real, integer, string, "
                  "date or a list of categories in braces)"},
        ErrorCase{"brace", "@attribute x {a,b\n@data\n", "x line 1: attribute 'x': its categories lack a closing brace"},
        ErrorCase{"twice", "@attribute x numeric\n@attribute x numeric\n@data\n", "x line 2: attribute 'x' is declared twice"},
        ErrorCase{"long_name", "@attribute a numeric\n@attribute " + std::string(1001, 'n') + " numeric\n@data\n",
                  "x line 2: column 2 ('nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...') has a name of 1001 bytes, must have at most 1000"},
        ErrorCase{"no_attribute", "@relation r\n@data\n", "x line 3: no attribute is declared"},
        ErrorCase{"empty", "", "x line 1: the text ends before @data"}),
    [](const auto& info) { return info.param.name; });

std::string many_rows(int n) {
  std::string rows;
  for (int i = 0; i < n; ++i) rows += std::to_string(i % 1000) + (i % 2 ? ",b\n" : ",a\n");
  return rows;
}

TEST(Arff, GivesTheSameForAnyNumberOfThreads) {
  const std::string text = with_rows(many_rows(600'000));   // several chunks
  const Parsed one = parse(parse_arff, text, 1), many = parse(parse_arff, text, 7);
  EXPECT_EQ(one.meta, many.meta);
  EXPECT_EQ(one.values, many.values);
  EXPECT_EQ(one.meta.n_rows, 600'000);
  EXPECT_EQ(one.at(599'999, 0), 999);
}

TEST(Arff, ReportsTheFirstOfSeveralErrors) {
  const std::string rows = many_rows(300'000);
  EXPECT_EQ(parse_error(parse_arff, with_rows(rows + "bad,a\n" + rows + "worse,a\n" + rows)),
            "x line 300005: attribute 1 ('x'): 'bad' is not a number");
}

TEST(Arff, WidensToFloat64WhenTheLastValueNeedsIt) {
  const Parsed p = arff(with_rows(many_rows(300'000) + "0.1,a\n"));
  EXPECT_FALSE(p.meta.is_float32);
  EXPECT_EQ(p.at(300'000, 0), 0.1);
  EXPECT_EQ(p.at(999, 0), 999);
}

TEST(Arff, LeavesNoFileBehindAnError) {
  const TemporaryDirectory directory;
  EXPECT_THROW(parse_arff(with_rows("1,a\n?,q\n"), {.source = "x", .output = directory.path() / "x.kds"}), schema::Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Arff, SaysThatTheDiskRefusesMore) {
  const TemporaryDirectory directory;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  try {
    parse_arff(with_rows(many_rows(600'000)), {.source = "x", .output = directory.path() / "x.kds"});
    ADD_FAILURE() << "found room";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, testing::HasSubstr("write failed: "));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ArffStream, GivesTheSameForEveryCutOfTheText) {
  const std::string text =
      "\xEF\xBB\xBF% c\r\n@relation r\n@attribute x numeric\n@attribute c {a,b}\n@data\n1,a\n\n% "
      "c\n2.5,b\n?,a";
  const Parsed whole = arff(text);
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    const TemporaryDirectory directory;
    const ParseRequest request{.source = "x", .output = directory.path() / "x.kds"};
    ArffStream rows(request);
    rows.restart();
    for (std::size_t at = 0; at < text.size(); at += piece) rows.write(std::string_view(text).substr(at, piece));
    EXPECT_EQ(rows.finish(), whole.meta) << piece;
    EXPECT_EQ(read_file(request.output).at(1, 0), 2.5) << piece;
  }
}

TEST(ArffStream, TakesOffOneByteOrderMarkHoweverTheTextArrives) {
  const std::string mark = "\xEF\xBB\xBF", text = mark + mark + with_rows("1,a\n");
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
    const TemporaryDirectory directory;
    const ParseRequest request{.source = "x", .output = directory.path() / "x.kds"};
    ArffStream rows(request);
    for (std::size_t at = 0; at < text.size(); at += piece) rows.write(std::string_view(text).substr(at, piece));
    try {
      rows.finish();
      ADD_FAILURE() << "accepted in pieces of " << piece;
    } catch (const schema::Error& error) {
      EXPECT_THAT(error.message, testing::HasSubstr("x line 1: ")) << piece;
    }
  }
}

TEST(ArffStream, ForgetsWhatCameBeforeARestart) {
  const TemporaryDirectory directory;
  const ParseRequest request{.source = "x", .output = directory.path() / "x.kds"};
  ArffStream rows(request);
  rows.restart();
  rows.write(with_rows(many_rows(600'000) + "bad,row\n"));
  rows.restart();
  rows.write(with_rows("1,a\n"));
  EXPECT_EQ(rows.finish().n_rows, 1);
}

TEST(ArffStream, KeepsAnErrorOfTheTextForItsEnd) {
  const TemporaryDirectory directory;
  const ParseRequest request{.source = "x", .output = directory.path() / "x.kds"};
  ArffStream rows(request);
  rows.restart();
  rows.write("no ARFF at all\n");
  rows.write(with_rows(many_rows(600'000)));
  EXPECT_THROW(rows.finish(), schema::Error);
}

TEST(ArffStream, WidensWhatIsOnDiskAlready) {
  for (const int threads : {1, 7}) {
    const Parsed p = parse(parse_arff, with_rows(many_rows(700'000) + "0.1,a\n" + many_rows(400'000)), threads);
    ASSERT_FALSE(p.meta.is_float32);
    for (std::int64_t row = 0; row < p.meta.n_rows; ++row) {
      const std::int64_t i = row < 700'000 ? row : row - 700'001;
      ASSERT_EQ(p.at(row, 0), row == 700'000 ? 0.1 : static_cast<double>(i % 1000)) << row;
    }
  }
}

TEST(Arff, StopsWhenAsked) {
  const TemporaryDirectory directory;
  std::stop_source stop;
  stop.request_stop();
  try {
    parse_arff(with_rows(many_rows(10)),
               {.source = "x", .output = directory.path() / "x.kds", .parallel = {.stop = stop.get_token()}});
    FAIL() << "was not cancelled";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kCancelled);
  }
}

}   // namespace
}   // namespace kedge::server
