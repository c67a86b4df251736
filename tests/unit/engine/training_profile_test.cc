// What a model keeps of the rows that it was fitted on, against numpy's deciles, and how later rows are counted.
#include "engine/model/training_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "engine/backend/loader.h"
#include "engine/model/stored_model.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

// A table of one column and a target, the value of row i being value(i).
DatasetFile table_of(const TemporaryFolder& folder, ColumnInfo column, std::int64_t n_rows,
                     const std::function<double(std::int64_t)>& value) {
  column.values_column = 0;
  DatasetMeta meta{.name = "table", .n_rows = n_rows, .n_values_columns = 2, .target = "y"};
  meta.columns = {std::move(column), {.name = "y", .values_column = 1}};
  DatasetFileWriter writer(folder.path() / "table.kds", meta);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    writer.values_f64()[at] = value(i), writer.values_f64()[at + 1] = static_cast<double>(i % 2);
  }
  writer.finish();
  return DatasetFile(folder.path() / "table.kds");
}

schema::ModelInfo info_of(const Selection& selection) {
  schema::ModelInfo info{.dtype = selection.is_float32 ? "float32" : "float64"};
  for (const Feature& feature : selection.features)
    info.columns.push_back(
        {.name = feature.name, .kind = feature.is_nominal ? "category" : "number", .categories = feature.categories});
  return info;
}

std::optional<TrainingProfile> profile_of(const DatasetFile& data, const schema::Select& select = {}) {
  const Selection selection = select_features(select, data.meta(), {.nan = true, .categories = true});
  return training_profile(selection, data, info_of(selection));
}

double of_500(std::int64_t i) {
  return i % 11 == 0 ? kMissing : static_cast<double>(i * 7919 % 1009) / 8;
}

// numpy.quantile(x, k / 10, method="inverted_cdf") and numpy.searchsorted(edges, x), of what is not missing.
TEST(TrainingProfile, HasTheDecilesOfNumpy) {
  const TemporaryFolder folder;
  const auto profile = profile_of(table_of(folder, numeric("x"), 500, of_500));
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->rows, 500);
  EXPECT_THAT(profile->columns[0].edges,
              ElementsAre(11.5, 22.875, 34.75, 49.75, 61.125, 72.5, 87.875, 99.375, 110.625));
  EXPECT_THAT(profile->columns[0].counts, ElementsAre(46, 45, 46, 45, 45, 46, 45, 46, 45, 45, 46));
}

TEST(TrainingProfile, KeepsNoEqualEdges) {
  const TemporaryFolder folder;
  auto profile =
      profile_of(table_of(folder, numeric("x"), 500, [](std::int64_t i) { return static_cast<double>(i % 3); }));
  EXPECT_THAT(profile->columns[0].edges, ElementsAre(0, 1, 2));
  EXPECT_THAT(profile->columns[0].counts, ElementsAre(167, 167, 166, 0, 0));
  profile = profile_of(table_of(folder, numeric("x"), 7, [](std::int64_t) { return -0.0; }));
  EXPECT_THAT(profile->columns[0].edges, ElementsAre(0));
  EXPECT_THAT(profile->columns[0].counts, ElementsAre(7, 0, 0));
  profile = profile_of(table_of(folder, numeric("x"), 1, [](std::int64_t) { return 4.0; }));
  EXPECT_THAT(profile->columns[0].edges, ElementsAre(4));
  profile = profile_of(table_of(folder, numeric("x"), 7, [](std::int64_t) { return kMissing; }));
  EXPECT_THAT(profile->columns[0].edges, IsEmpty());
  EXPECT_THAT(profile->columns[0].counts, ElementsAre(0, 7));
}

TEST(TrainingProfile, KeepsTheMostFrequentCategories) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (int code = 0; code < 30; ++code) names.push_back("c" + std::to_string(code));
  // Category k has k rows, but the last two as many as each other; 29 rows are missing.
  std::vector<double> rows(29, kMissing);
  for (int code = 1; code < 30; ++code) rows.insert(rows.end(), static_cast<std::size_t>(code == 29 ? 28 : code), code);
  const auto profile = profile_of(table_of(folder, nominal("c", names), std::ssize(rows),
                                           [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; }));
  std::vector<std::int32_t> codes{28, 29}, counts{28, 28};
  for (int code = 27; code > 9; --code) codes.push_back(code), counts.push_back(code);
  counts.push_back(1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9), counts.push_back(29);
  EXPECT_THAT(profile->columns[0].categories, ElementsAreArray(codes));
  EXPECT_THAT(profile->columns[0].counts, ElementsAreArray(counts));
}

TEST(TrainingProfile, CountsRowsSpreadOverAll) {
  const TemporaryFolder folder;
  const DatasetFile data =
      table_of(folder, numeric("x"), 100'000, [](std::int64_t i) { return static_cast<double>(i); });
  const auto profile = profile_of(data);
  EXPECT_EQ(profile->rows, 10'000);
  EXPECT_EQ(profile->columns[0].edges.front(), 9990);
  EXPECT_EQ(profile->columns[0].edges.back(), 89990);
  EXPECT_EQ(profile_of(data, {.rows = 100})->rows, 100);
}

TEST(TrainingProfile, IsOfTheValuesThatTheFirstStepGets) {
  const TemporaryFolder folder;
  const DatasetFile data =
      table_of(folder, numeric("x"), 10, [](std::int64_t i) { return static_cast<double>(i) / 10; });
  const auto profile = profile_of(data, {.dtype = "float32", .scale = 2});
  EXPECT_EQ(profile->columns[0].edges.front(), 0);
  EXPECT_EQ(profile->columns[0].edges[3], static_cast<double>(0.6F));
}

TEST(TrainingProfile, IsNoneOfTooManyColumns) {
  const TemporaryFolder folder;
  constexpr std::int64_t kColumns = TrainingProfile::kMostColumns + 2;
  DatasetMeta meta{.name = "wide", .n_rows = 3, .n_values_columns = kColumns, .target = "y"};
  for (std::int64_t j = 0; j < kColumns; ++j)
    meta.columns.push_back({.name = j + 1 < kColumns ? "x" + std::to_string(j) : "y", .values_column = j});
  DatasetFileWriter(folder.path() / "wide.kds", meta).finish();
  EXPECT_FALSE(profile_of(DatasetFile(folder.path() / "wide.kds")));
}

// Rows of one column as a request brings them.
ModelRows rows_of(const std::vector<double>& values) {
  return {.n_rows = std::ssize(values), .values = values, .features = {{.name = "x"}}};
}

TEST(BinCounter, CountsLaterRowsIntoTheSameBins) {
  const TemporaryFolder folder;
  const auto profile = profile_of(table_of(folder, numeric("x"), 500, of_500));
  const schema::ModelInfo info{.columns = {{.name = "x"}}};
  BinCounter counter(*profile, info);
  std::vector<double> shifted;
  for (std::int64_t i = 0; i < 500; ++i) shifted.push_back(of_500(i) * 1.1 + 3);
  for (int time = 0; time < 2; ++time) {   // nothing is left of the first
    const BinCounter::Counts counted = counter.count(rows_of(shifted));
    EXPECT_THAT(counted.bins, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_THAT(counted.counts, ElementsAre(30, 41, 42, 39, 42, 41, 54, 28, 40, 97, 46));
  }
  const BinCounter::Counts one = counter.count(rows_of({11.5}));   // an edge belongs to the bin below it
  EXPECT_THAT(one.bins, ElementsAre(0));
  EXPECT_THAT(one.counts, ElementsAre(1));
}

TEST(BinCounter, RoundsAsAModelOfFloat32Does) {
  const TrainingProfile profile{.rows = 1, .columns = {{.edges = {static_cast<double>(0.7F)}, .counts = {1, 0, 0}}}};
  ASSERT_LT(static_cast<double>(0.7F), 0.7);
  EXPECT_THAT(BinCounter(profile, {.columns = {{"x"}}, .dtype = "float32"}).count(rows_of({0.7})).bins, ElementsAre(0));
  EXPECT_THAT(BinCounter(profile, {.columns = {{"x"}}}).count(rows_of({0.7})).bins, ElementsAre(1));
}

TEST(BinCounter, KnowsOtherCategoriesAndTexts) {
  const TrainingProfile profile{.rows = 4,
                                .columns = {{.categories = {2, 0}, .counts = {2, 1, 1, 0}}, {.counts = {4, 0}}}};
  const schema::ModelInfo info{.columns = {{"c", "category", {"a", "b", "c"}}, {"t", "text"}}};
  // c, an unknown one, missing; any text, another, missing.
  const ModelRows rows{.n_rows = 3, .values = {2, 0, 3, 1, kMissing, kMissing}};
  const BinCounter::Counts counted = BinCounter(profile, info).count(rows);
  EXPECT_THAT(counted.bins, ElementsAre(0, 2, 3, 4, 5));
  EXPECT_THAT(counted.counts, ElementsAre(1, 1, 1, 2, 1));
}

// A model of the table of of_500().
RunFiles fitted(const TemporaryFolder& folder) {
  const DatasetFile data = table_of(folder, numeric("x"), 500, of_500);
  const schema::JobSpec spec{.dataset = {schema::InlineRef{.csv = "x"}},
                             .pipeline = {{.estimator = "SimpleImputer"}, {.estimator = "LinearRegression"}},
                             .task = schema::Fit{}};
  RunFiles files{.model_file = folder.path() / "model.kedge"};
  Pipeline::build(spec).run({.device = cpu()}, data, {}, &files);
  return files;
}

TEST(StoredModel, KeepsItsProfile) {
  const TemporaryFolder folder;
  const auto model = StoredModel::load({.device = cpu()}, fitted(folder).model_file);
  ASSERT_TRUE(model->profile());
  const schema::ModelProfile profile = model->profile()->described(model->info());
  EXPECT_EQ(profile.rows, 500);
  ASSERT_EQ(profile.columns.size(), 1u);
  EXPECT_EQ(profile.columns[0].edges.size(), 9u);
  EXPECT_EQ(profile.columns[0].shares.front(), 46.0 / 500);
  EXPECT_NEAR(std::reduce(profile.columns[0].shares.begin(), profile.columns[0].shares.end()), 1, 1e-15);
}

// Saves a profile with a description that need not fit it, and loads it again.
std::optional<schema::Error> damage(TrainingProfile profile, const schema::ModelInfo& info) {
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  ModelFileWriter writer(folder.path() / "profile");
  StateArchive saving(ctx, writer, 0);
  profile.state(saving, info);
  writer.finish(info);
  const ModelFile file(folder.path() / "profile");
  StateArchive loading(ctx, file, 0);
  try {
    TrainingProfile loaded;
    loaded.state(loading, info);
    loading.finish();
    EXPECT_EQ(loaded.described(info), profile.described(info));
    return std::nullopt;
  } catch (const schema::Error& error) {
    return error;
  }
}

TEST(TrainingProfile, ThatDoesNotFitItselfIsRefused) {
  const schema::ModelInfo number{.columns = {{"x"}}}, category{.columns = {{"c", "category", {"a", "b"}}}};
  EXPECT_FALSE(damage({.rows = 3, .columns = {{.edges = {1, 2}, .counts = {1, 1, 1, 0}}}}, number));
  EXPECT_FALSE(damage({.rows = 3, .columns = {{.categories = {1}, .counts = {1, 1, 1}}}}, category));
  const std::pair<TrainingProfile, schema::ModelInfo> damaged[] = {
      {{.rows = 3, .columns = {{.edges = {2, 2}, .counts = {1, 1, 1, 0}}}}, number},
      {{.rows = 3, .columns = {{.edges = {1, kMissing}, .counts = {1, 1, 1, 0}}}}, number},
      {{.rows = 4, .columns = {{.edges = {1, 2}, .counts = {1, 1, 1, 0}}}}, number},
      {{.rows = 3, .columns = {{.edges = {1, 2}, .counts = {5, -2, 0, 0}}}}, number},
      {{.rows = 0, .columns = {{.counts = {0, 0}}}}, number},
      {{.rows = 3, .columns = {{.categories = {1}, .counts = {1, 1, 1}}}}, number},
      {{.rows = 3, .columns = {{.edges = {1}, .counts = {1, 1, 1}}}}, category}};
  for (const auto& [profile, info] : damaged) {
    const std::optional<schema::Error> error = damage(profile, info);
    ASSERT_TRUE(error) << profile.rows;
    EXPECT_EQ(error->code, ErrorCode::kModelCorrupt);
    EXPECT_NE(error->message.find("profile"), std::string::npos) << error->message;
  }
}

TEST(TrainingProfile, OfACategoryThatTheModelHasNotIsRefused) {
  // described() would read beyond its names, so that it is not compared.
  const schema::ModelInfo two{.columns = {{"c", "category", {"a", "b"}}}}, one{.columns = {{"c", "category", {"a"}}}};
  const TemporaryFolder folder;
  const Context ctx{.device = cpu()};
  TrainingProfile profile{.rows = 3, .columns = {{.categories = {1}, .counts = {1, 1, 1}}}}, loaded;
  ModelFileWriter writer(folder.path() / "profile");
  StateArchive saving(ctx, writer, 0);
  profile.state(saving, two);
  writer.finish(one);
  const ModelFile file(folder.path() / "profile");
  StateArchive loading(ctx, file, 0);
  EXPECT_THROW(loaded.state(loading, one), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
