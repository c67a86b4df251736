// Conditions as text, and the rows that select.where, dropna, dropDuplicates and sample leave.
#include "engine/table/row_filter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/core/stop.h"
#include "engine/table/columns_read.h"
#include "engine/table/row_condition.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using Rows = std::vector<std::int64_t>;
using schema::Select;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// age, city (Paris, Rome, New York), net income, y
const std::vector<double> kCells{
    20, 0,    1.5,  0,   // row 0
    30, 1,    kNaN, 1,   //
    40, 0,    2.5,  0,   //
    30, 1,    kNaN, 1,   // as row 1
    50, 2,    0,    1,   //
    60, kNaN, -0.0, 1,   //
    50, 2,    -0.0, 1,   // as row 4
};
constexpr std::int64_t kRows = 7;

class RowFilterTest : public testing::Test {
 protected:
  RowFilterTest() : file_(path("data")), output_(path("out")) {
    DatasetMeta meta{.name = "people", .n_rows = kRows, .n_values_columns = 4, .target = "y"};
    meta.columns = {{.name = "age", .values_column = 0},
                    {.name = "city",
                     .type = ColumnInfo::Type::kNominal,
                     .categories = {"Paris", "Rome", "New York"},
                     .values_column = 1},
                    {.name = "net income", .values_column = 2},
                    {.name = "y", .values_column = 3},
                    {.name = "remarks", .type = ColumnInfo::Type::kString}};
    DatasetFileWriter writer(file_, meta);
    std::ranges::copy(kCells, writer.values_f64().begin());
    writer.finish();
  }
  ~RowFilterTest() override { std::filesystem::remove(file_), std::filesystem::remove(output_); }

  static std::filesystem::path path(const std::string& what) {
    return std::filesystem::temp_directory_path() / ("kedge-row-filter-" + what + std::to_string(::getpid()));
  }
  Rows left(const Select& select) const { return filtered_rows(select, DatasetFile(file_)); }
  Rows where(const std::string& condition) const { return left({.where = {condition}}); }
  std::string refusal(const Select& select) const {
    try {
      check_row_filter(select);
      left(select);
    } catch (const schema::Error& error) {
      return error.where + ": " + error.message;
    }
    return "";
  }

  const std::filesystem::path file_, output_;
};

TEST_F(RowFilterTest, ComparesNumbers) {
  EXPECT_EQ(where("age >= 40"), (Rows{2, 4, 5, 6}));
  EXPECT_EQ(where("age>40"), (Rows{4, 5, 6}));
  EXPECT_EQ(where(" age < 3e1 "), (Rows{0}));
  EXPECT_EQ(where("age <= 30"), (Rows{0, 1, 3}));
  EXPECT_EQ(where("age == 30"), (Rows{1, 3}));
  EXPECT_EQ(where("age != 30"), (Rows{0, 2, 4, 5, 6}));
  EXPECT_EQ(where("age in [20, 60, 7]"), (Rows{0, 5}));
  EXPECT_EQ(where("age not in [20,30]"), (Rows{2, 4, 5, 6}));
}

TEST_F(RowFilterTest, AMissingCellDiffersFromEverything) {
  EXPECT_EQ(where("`net income` >= -10"), (Rows{0, 2, 4, 5, 6}));
  EXPECT_EQ(where("`net income` != 0"), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(where("`net income` not in [0, 1.5]"), (Rows{1, 2, 3}));
  EXPECT_EQ(where("`net income` isna"), (Rows{1, 3}));
  EXPECT_EQ(where("city notna"), (Rows{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(where("city != 'Paris'"), (Rows{1, 3, 4, 5, 6}));
}

TEST_F(RowFilterTest, ComparesCategories) {
  EXPECT_EQ(where("city == 'Paris'"), (Rows{0, 2}));
  EXPECT_EQ(where("city in [\"Rome\", 'New York']"), (Rows{1, 3, 4, 6}));
  EXPECT_EQ(left({.where = {"city == 'New York'", "age < 55"}}), (Rows{4, 6}));
}

TEST_F(RowFilterTest, DropsMissingCellsAndDuplicates) {
  EXPECT_EQ(left({.dropna = true}), (Rows{0, 2, 4, 6}));
  EXPECT_EQ(left({.columns = {"age"}, .dropna = true}), (Rows{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(left({.dropDuplicates = true}), (Rows{0, 1, 2, 4, 5}));
  EXPECT_EQ(left({.columns = {"city"}, .dropDuplicates = true}), (Rows{0, 1, 4, 5}));   // and the target
  EXPECT_EQ(left({.dropna = true, .dropDuplicates = true}), (Rows{0, 2, 4}));
}

TEST_F(RowFilterTest, DrawsWhatPandasDraws) {
  DatasetMeta meta{.name = "ten", .n_rows = 10, .n_values_columns = 1};
  meta.columns = {{.name = "a", .values_column = 0}};
  DatasetFileWriter writer(output_, meta);
  writer.finish();
  const DatasetFile ten(output_);
  EXPECT_EQ(filtered_rows({.sample = 5, .sampleSeed = 3}, ten),
            (Rows{5, 4, 1, 2, 9}));   // DataFrame.sample(5, random_state=3)
  EXPECT_EQ(filtered_rows({.sample = 10}, ten), (Rows{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}));
}

TEST_F(RowFilterTest, ReadsCellsAsTheJobDoes) {
  EXPECT_EQ(left({.naValues = {"Rome", "60"}, .where = {"city isna"}}), (Rows{1, 3, 5}));
  EXPECT_EQ(left({.naValues = {"60"}, .where = {"age isna"}}), (Rows{5}));
  EXPECT_EQ(left({.types = {{"age", "category"}}, .where = {"age == '30'"}}), (Rows{1, 3}));
  EXPECT_EQ(left({.rows = 1, .types = {{"age", "category"}}, .where = {"age == 60"}}),
            (Rows{5}));   // `rows` comes after
}

TEST_F(RowFilterTest, WritesTheRowsAsTheyAreStored) {
  write_filtered_rows({.where = {"age == 30"}}, DatasetFile(file_), output_);
  const DatasetFile data(output_);
  EXPECT_EQ(data.meta().n_rows, 2);
  EXPECT_EQ(data.meta().target, "y");
  EXPECT_EQ(data.meta().columns[2].missing, 2);
  EXPECT_EQ(data.values_f64()[4], 30);
  EXPECT_EQ(data.values_f64()[5], 1);
}

TEST_F(RowFilterTest, SaysWhatIsWrong) {
  EXPECT_EQ(refusal({.where = {"age > 1", "agee > 1"}}),
            "select.where[1]: people has no column 'agee'; did you mean 'age'?");
  EXPECT_EQ(refusal({.where = {"age == 'x'"}}), "select.where[0]: column 'age' has numbers, 'x' is a text");
  EXPECT_EQ(refusal({.where = {"city > 'Paris'"}}),
            "select.where[0]: column 'city' has categories, which are equal or not, neither less nor more");
  EXPECT_EQ(refusal({.where = {"remarks == 'x'"}}),
            "select.where[0]: column 'remarks' is free text, of which the data set keeps nothing");
  EXPECT_EQ(refusal({.where = {"age > 100"}}), "select: people: the selection leaves none of 7 rows");
  EXPECT_EQ(refusal({.sample = 8}), "select.sample: sample is 8, but 7 rows are left");
  EXPECT_EQ(refusal({.sample = 0}), "select.sample: sample is 0, must be at least 1");
  EXPECT_EQ(refusal({.sampleSeed = 1}), "select.sampleSeed: sampleSeed is there without sample");
  EXPECT_EQ(refusal({.columns = {"agee"}, .dropna = true}),
            "select.columns[0]: people has no column 'agee'; did you mean 'age'?");
}

TEST_F(RowFilterTest, RefusesWhatIsNoCondition) {
  for (const char* text : {"", "age", "age >", "age = 3", "age > x", "age in 3", "age in [3", "age > 3 4", "`age > 3",
                           "age == 'x", "age not 3", "> 3", "age isnan", "age > nan", "age in [1,]"}) {
    try {
      parse_row_condition(text, "select.where[0]");
      ADD_FAILURE() << text;
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.where, "select.where[0]");
      EXPECT_NE(error.message.find("conditions look like"), std::string::npos) << error.message;
    }
  }
  EXPECT_THROW(parse_row_condition("a == '" + std::string(5000, 'x') + "'", ""), schema::Error);
  EXPECT_EQ(std::get<std::string>(parse_row_condition("a == 'it''s'", "").literals.at(0)), "it's");
  EXPECT_TRUE(parse_row_condition("a in []", "").literals.empty());
}

TEST_F(RowFilterTest, EndsWhenTheJobIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const StopScope scope(stop.get_token());
  EXPECT_THROW(where("age > 1"), schema::Error);
}

TEST(ColumnsRead, AreAllThatTheSelectionNames) {
  EXPECT_TRUE(columns_read({.target = "y", .where = {"age > 3"}}).empty()) << "features are all the others";
  const Select select{.columns = {"b", "a"},
                      .target = "y",
                      .weights = "w",
                      .groups = "b",
                      .types = {{"day", "date"}},
                      .where = {"`net income` notna", "a > 1"}};
  EXPECT_EQ(columns_read(select), (std::vector<std::string>{"a", "b", "day", "net income", "w", "y"}));
}

}   // namespace
}   // namespace kedge::engine
