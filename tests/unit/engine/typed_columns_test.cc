// Missing texts and types: how a job reads columns whose cells are not all of one kind, and the errors.
#include "engine/table/typed_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/table/column_advice.h"
#include "engine/table/preview.h"
#include "engine/table/selection.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Select;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

schema::Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// age (numbers and "unknown"), plan (categories and "None"), signup (dates), zip (numbers), churned (target).
class TypedColumns : public testing::Test {
 protected:
  const DatasetFile& data(bool guessed = true) {
    const auto path = folder_.path() / (guessed ? "guessed.kds" : "declared.kds");
    DatasetMeta meta{.name = "small",
                     .n_rows = 4,
                     .columns = {nominal("age", {"31", "40.5", "unknown"}), nominal("plan", {"None", "basic", "plus"}),
                                 nominal("signup", {"2024-01-31", "2024-02-29", "n/a"}), numeric("zip"), nominal("churned", {"None", "yes"})},
                     .n_values_columns = 5,
                     .target = "churned",
                     .types_are_guessed = guessed};
    for (std::size_t c = 0; c < meta.columns.size(); ++c) meta.columns[c].values_column = static_cast<std::int64_t>(c);
    const std::vector<double> rows{0, 1, 0, 8001, 0, 1, 0, 1, 9, 1, 2, 2, 2, -999, 1, kNan, kNan, 0, 9, 0};
    DatasetFileWriter writer(path, meta);
    std::copy(rows.begin(), rows.end(), writer.values_f64().begin());
    writer.finish();
    return files_.emplace_back(path);
  }

  static std::vector<double> values(const DatasetFile& data, const ColumnInfo& column) {
    std::vector<double> found = data.column(column.values_column, data.meta().n_rows);
    for (double& value : found) value = column.cells.of(value);
    return found;
  }

  static const ColumnInfo& column(const DatasetMeta& meta, const std::string& name) { return find_column(meta, name, ""); }

 private:
  TemporaryFolder folder_;
  std::vector<DatasetFile> files_;

 public:
  TypedColumns() { files_.reserve(4); }
};

TEST_F(TypedColumns, AreNumbersOnceTheirTextsAreMissing) {
  const DatasetFile& file = data();
  const auto typed = typed_meta({.naValues = {"unknown"}}, file);
  ASSERT_TRUE(typed);
  const ColumnInfo& age = column(*typed, "age");
  EXPECT_EQ(age.type, ColumnInfo::Type::kNumeric);
  EXPECT_THAT(values(file, age), ElementsAre(31, 40.5, testing::IsNan(), testing::IsNan()));
}

TEST_F(TypedColumns, LoseTheUsualMissingTextsButNotInTheTarget) {
  const DatasetFile& file = data();
  const auto typed = typed_meta({}, file);
  ASSERT_TRUE(typed);
  EXPECT_THAT(column(*typed, "plan").categories, ElementsAre("basic", "plus"));
  EXPECT_THAT(values(file, column(*typed, "plan")), ElementsAre(0, testing::IsNan(), 1, testing::IsNan()));
  EXPECT_THAT(column(*typed, "churned").categories, ElementsAre("None", "yes"));
}

TEST_F(TypedColumns, KeepTheUsualTextsWhereTheJobOrTheSourceSaysSo) {
  EXPECT_FALSE(typed_meta({.keepDefaultNa = false}, data()));
  EXPECT_FALSE(typed_meta({}, data(false)));   // a source that declares its categories means them
}

TEST_F(TypedColumns, TakeNumbersForMissingToo) {
  const DatasetFile& file = data();
  const auto typed = typed_meta({.naValues = {"-999"}}, file);
  EXPECT_THAT(values(file, column(*typed, "zip")), ElementsAre(8001, 9, testing::IsNan(), 9));
}

TEST_F(TypedColumns, BecomeCategoriesInAscendingOrder) {
  const DatasetFile& file = data();
  const auto typed = typed_meta({.naValues = {"-999"}, .types = {{"zip", "category"}}}, file);
  EXPECT_THAT(column(*typed, "zip").categories, ElementsAre("9", "8001"));
  EXPECT_THAT(values(file, column(*typed, "zip")), ElementsAre(1, 0, testing::IsNan(), 0));
}

TEST_F(TypedColumns, BecomeDaysOrParts) {
  const DatasetFile& file = data();
  const auto days = typed_meta({.types = {{"signup", "date"}}}, file);
  EXPECT_THAT(values(file, column(*days, "signup")), ElementsAre(19753, 19782, testing::IsNan(), 19753));
  const auto parts = typed_meta({.types = {{"signup", "date:parts"}}}, file);
  EXPECT_THAT(values(file, column(*parts, "signup_year")), ElementsAre(2024, 2024, testing::IsNan(), 2024));
  EXPECT_THAT(values(file, column(*parts, "signup_weekday")), ElementsAre(2, 3, testing::IsNan(), 2));
  const Selection selection = select_features({.columns = {"signup"}}, *parts);
  EXPECT_EQ(selection.n_cols(), 4);
  EXPECT_THAT(selection.columns, Each(2));
}

TEST_F(TypedColumns, BecomeATargetByACondition) {
  const DatasetFile& file = data();
  const auto target_of = [&](const std::string& condition) {
    const Select select{
        .target = condition, .naValues = {"unknown"}, .types = {{"signup", "drop"}, {"plan", "category"}}};
    const auto typed = typed_meta(select, file);
    const ColumnInfo* target = find_targets(select, *typed).at(0);
    EXPECT_EQ(target->name, condition);
    EXPECT_EQ(target->type, ColumnInfo::Type::kNumeric);
    return values(file, *target);
  };
  EXPECT_THAT(target_of("zip >= 1"), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(target_of("plan in ['plus', 'basic']"), ElementsAre(1, testing::IsNan(), 1, testing::IsNan()));
  EXPECT_THAT(target_of("age == 31"), ElementsAre(1, 0, testing::IsNan(), testing::IsNan()));
  EXPECT_THAT(target_of("age notna"), ElementsAre(1, 1, 0, 0));
}

TEST_F(TypedColumns, OfATargetByAConditionAreNoFeature) {
  const DatasetFile& file = data();
  Select select{.target = "churned == 'yes'", .keepDefaultNa = false, .types = {{"signup", "drop"}}};
  const auto names = [&] {
    std::vector<std::string> found;
    for (const Feature& feature :
         select_features(select, *typed_meta(select, file), {.nan = true, .categories = true}).features)
      found.push_back(feature.name);
    return found;
  };
  EXPECT_THAT(names(), ElementsAre("age", "plan", "zip"));
  select.columns = {"zip", "churned"};
  EXPECT_THAT(names(), ElementsAre("zip", "churned"));
  const auto refusal = [&](const std::string& target) {
    return error_of([&] { typed_meta({.target = target}, file); });
  };
  EXPECT_THAT(refusal("churnd == 'yes'").message, HasSubstr("did you mean 'churned'?"));
  EXPECT_EQ(refusal("churnd == 'yes'").where, "select.target");
  EXPECT_THAT(refusal("zip == 'x'").message, HasSubstr("column 'zip' has numbers, 'x' is a text"));
  EXPECT_THAT(refusal("plan > 'x'").message, HasSubstr("neither less nor more"));
}

TEST_F(TypedColumns, AreLeftOutWhereTheJobDropsThem) {
  const auto typed = typed_meta({.types = {{"plan", "drop"}, {"signup", "drop"}, {"age", "drop"}}}, data());
  EXPECT_EQ(select_features({}, *typed).features, (std::vector<Feature>{{.name = "zip"}}));
  EXPECT_EQ(error_of([&] { typed_meta({.types = {{"churned", "drop"}}}, data()); }).where, "select.types.churned");
}

TEST_F(TypedColumns, NameTheFirstCellThatIsNoNumberAndTheCure) {
  const schema::Error error = error_of([&] { typed_meta({.types = {{"age", "number"}}}, data()); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.where, "select.types.age");
  EXPECT_THAT(error.message, HasSubstr("column 'age': 'unknown' is no number in row 2 (counted from 0), one of 1"));
  EXPECT_THAT(error.message, HasSubstr(R"("naValues": ["unknown"])"));
  EXPECT_THAT(error_of([&] { typed_meta({.types = {{"plan", "date"}}}, data()); }).message, HasSubstr("'basic' is no date in row 0"));
}

TEST_F(TypedColumns, SuggestTheNearestNameOfAColumn) {
  const schema::Error error = error_of([&] { typed_meta({.types = {{"sinup", "date"}}}, data()); });
  EXPECT_EQ(error.where, "select.types.sinup");
  EXPECT_THAT(error.message, HasSubstr("did you mean 'signup'?"));
}

TEST_F(TypedColumns, ExplainThemselvesWhereOnlyNumbersAreTaken) {
  const DatasetFile& file = data();
  const schema::Error error = error_of([&] { select_features({}, file.meta(), {}, &file); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.message, HasSubstr("column 'age' is nominal"));
  EXPECT_THAT(error.message, HasSubstr("'unknown' in row 2"));
  EXPECT_THAT(error.message, HasSubstr(R"("naValues": ["unknown"])"));
  EXPECT_THAT(error.message, HasSubstr("column 'plan' is nominal"));   // all of them at once
}

TEST_F(TypedColumns, SurviveTheFileAndAreComparedByValue) {
  const DatasetFile& file = data();
  EXPECT_TRUE(file.meta().types_are_guessed);
  const auto once = typed_meta({.naValues = {"unknown"}}, file), again = typed_meta({.naValues = {"unknown"}}, file);
  EXPECT_EQ(column(*once, "age"), column(*again, "age"));   // with NaN in its map; otherwise no table would stay warm
  EXPECT_FALSE(column(*once, "plan") == column(file.meta(), "plan"));
}

TEST(ColumnAdvice, IsWrittenAsJson) {
  EXPECT_EQ(types_words("say \"no\"", "drop"), R"("select": {"types": {"say \"no\"": "drop"}})");
  EXPECT_EQ(na_words({"unknown", "a\\b"}), R"("naValues": ["unknown", "a\\b"])");
}

TEST(Preview, EndsWhenItIsToStop) {
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {numeric("a"), numeric("b")}, {1, 2}, "b"));
  std::stop_source stop;
  stop.request_stop();
  const StopScope scope(stop.get_token());
  EXPECT_EQ(error_of([&] { preview_of({}, data, 1); }).code, ErrorCode::kCancelled);
}

TEST(ColumnAdvice, KnowsNumbersWithAFewTextsAndDates) {
  const auto is_accident = [](std::vector<std::string> categories) { return is_nominal_by_accident(nominal("x", std::move(categories))); };
  EXPECT_TRUE(is_accident({"1", "2", "3", "4", "5", "6", "unknown"}));
  EXPECT_TRUE(is_accident({"2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"}));
  EXPECT_FALSE(is_accident({"a", "b"}));
  EXPECT_FALSE(is_accident({"1", "2", "a", "b", "c", "d", "e", "f"}));
}

TEST_F(TypedColumns, AreShownByAPreview) {
  const schema::DatasetPreview preview =
      preview_of({.dataset = {schema::StoredRef{"small"}}, .select = {.naValues = {"unknown"}, .types = {{"signup", "date"}, {"zip", "drop"}}}},
                 data(), 2);
  ASSERT_EQ(preview.columns.size(), 5U);
  EXPECT_EQ(preview.rows, 4);
  EXPECT_EQ(preview.columns[0], (schema::PreviewColumn{.name = "age", .type = "number", .role = "feature", .missing = 2, .distinct = 2}));
  EXPECT_EQ(preview.columns[1], (schema::PreviewColumn{.name = "plan", .type = "category", .role = "feature", .missing = 2, .distinct = 2}));
  EXPECT_EQ(preview.columns[2].type, "date");
  EXPECT_EQ(preview.columns[3].role, "leftOut");
  EXPECT_EQ(preview.columns[4].role, "target");
  ASSERT_EQ(preview.firstRows.size(), 2U);
  EXPECT_EQ(preview.firstRows[0], schema::Value(schema::ValueList{std::int64_t{31}, "basic", std::int64_t{19753}, std::int64_t{8001}, "None"}));
  EXPECT_THAT(preview.notes, ElementsAre(HasSubstr("the last column 'churned' is the target")));
}

TEST(Preview, IsBoundedForAnyTable) {
  const TemporaryFolder folder;
  std::vector<ColumnInfo> columns;
  for (int c = 0; c < 300; ++c) columns.push_back(numeric(std::to_string(c)));
  columns[0] = nominal("0", {std::string(5000, 'x')});
  std::vector<double> values;
  for (int i = 0; i < 300 * 1500; ++i) values.push_back(i % 300 == 0 ? 0 : i);
  const DatasetFile data(write_dataset(folder.path(), columns, values));
  const schema::DatasetPreview preview = preview_of({.dataset = {schema::StoredRef{"wide"}}}, data, 100);
  EXPECT_EQ(preview.columns.size(), 200U);
  EXPECT_EQ(preview.nColumns, 300);
  EXPECT_EQ(preview.firstRows.size(), 20U);   // 4000 cells
  EXPECT_LE(std::get<std::string>(std::get<schema::ValueList>(preview.firstRows[0].data)[0].data).size(), 103U);
  EXPECT_TRUE(preview.columns[1].moreDistinct);
  EXPECT_EQ(preview.columns[1].distinct, 1000);
}

TEST(Preview, RefusesUnknownColumns) {
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {numeric("a"), numeric("b")}, {1, 2}, "b"));
  EXPECT_EQ(error_of([&] { preview_of({.select = {.columns = {"c"}}}, data, 1); }).where, "select.columns[0]");
  EXPECT_EQ(error_of([&] { preview_of({.select = {.target = "c"}}, data, 1); }).where, "select.target");
}

}  // namespace
}  // namespace kedge::engine
