// What it takes to ask a stored model: predicted, refused where it cannot fit, and done in tiles of rows.
#include "engine/model/model_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/backend/loader.h"
#include "engine/model/model_task.h"
#include "engine/pipeline.h"
#include "schemas/worker.h"
#include "tests/unit/engine/little_memory.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kCols = 40, kFitted = 500;

// A table of `n_rows` rows with two classes and models that were fitted on its first rows.
class AskedModel : public ::testing::Test {
 protected:
  std::filesystem::path write(std::int64_t n_rows) const {
    std::vector<ColumnInfo> columns;
    for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
    columns.push_back(nominal("y", {"no", "yes"}));
    std::vector<double> values;
    for (std::int64_t i = 0; i < n_rows; ++i) {
      for (std::int64_t j = 0; j < kCols; ++j)
        values.push_back(std::sin(static_cast<double>(i * (j + 1))) + static_cast<double>(i % 2));
      values.push_back(static_cast<double>(i % 2));
    }
    return write_dataset(folder_.path(), std::move(columns), values, "y");
  }
  std::unique_ptr<StoredModel> fitted(std::vector<schema::Step> steps) const {
    const schema::JobSpec spec{
        .dataset = {schema::StoredRef{"made"}}, .select = {.rows = kFitted}, .pipeline = std::move(steps), .task = schema::Fit{}};
    RunFiles files{.model_file = folder_.path() / "model.kedge", .data_digest = "feed"};
    Pipeline::build(spec).run(ctx_, DatasetFile(folder_.path() / "small.kedge"), {}, &files);
    return StoredModel::load(ctx_, files.model_file);
  }
  std::unique_ptr<StoredModel> polynomial(std::int64_t degree) const {
    return fitted({{"PolynomialFeatures", {{"degree", degree}}}, {"GaussianNB", {}}});
  }
  schema::Result run(StoredModel& model, schema::Task task) const {
    const Context ctx{.device = *device_, .emit = [](schema::EventBody) {}};
    const schema::JobSpec spec{.dataset = {schema::StoredRef{"made"}}, .task = std::move(task)};
    return run_model_task(ctx, spec, model, DatasetFile(folder_.path() / "small.kedge"), folder_.path());
  }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_ = open_device("cpu");
  Context ctx_{.device = *device_};
};

TEST_F(AskedModel, SaysTheSameInTilesAsOfAllRowsTogether) {
  const DatasetFile data(write(1000));
  const auto model = fitted({{"PolynomialFeatures", {}}, {"GaussianNB", {}}});
  const DatasetRows rows(model->info(), data, 1000);
  for (const char* output : {"predict", "predict_proba"}) {
    const ModelAnswer together = model->answer(ctx_, rows.rows(0, 1000), output);
    std::vector<std::int64_t> asked;
    const ModelAnswer tiled = answer_in_tiles(ctx_, *model, {.n_rows = 1000, .end = 1000}, 300, output,
                                              [&](std::int64_t first, std::int64_t count) {
                                                asked.push_back(count);
                                                return rows.rows(first, count);
                                              });
    EXPECT_EQ(asked, (std::vector<std::int64_t>{300, 300, 300, 100}));
    EXPECT_EQ(encoded_answer(tiled, "text/csv"), encoded_answer(together, "text/csv")) << output;
    EXPECT_EQ(tiled.n_rows, 1000);
  }
}

TEST_F(AskedModel, CountsTheRowsOfATileFromTheFirstOfAll) {
  write(kFitted);
  const auto model = fitted({{"GaussianNB", {}}});
  std::vector<ColumnInfo> columns;
  for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
  std::vector<double> values(900 * kCols, 1.0);
  values[850 * kCols + 7] = std::numeric_limits<double>::infinity();
  const DatasetFile data(write_dataset(folder_.path(), std::move(columns), values));
  try {
    DatasetRows(model->info(), data, 900).rows(800, 100);
    FAIL() << "an infinite cell was taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.message, "column 'x7', row 850 (counted from 0) is infinite");
  }
}

TEST_F(AskedModel, TakesNoMoreForMoreRowsThanTheirAnswers) {
  write(kFitted);
  const auto model = polynomial(3);
  const auto peak = [&](std::int64_t n_rows, std::string_view output) {
    return plan_answer({.model = model->info(), .n_rows = n_rows, .output = output}).peak_bytes;
  };
  constexpr std::int64_t kRows = 1'000'000, kOfAnswer = 200;   // of a row: a number, a name, their text
  EXPECT_LE(peak(10 * kRows, "predict") - peak(kRows, "predict"), 9 * kRows * kOfAnswer);
  EXPECT_LE(tile_rows(model->info()), kRows / 100);
}

TEST_F(AskedModel, TakesOnARankWhatItsOwnRowsTake) {
  write(kFitted);
  const auto model = polynomial(3);
  constexpr std::int64_t kRows = 4'000'000, kNumber = 8, kTile = 65'536;
  const auto plan = [&](std::int64_t n_rows, std::optional<RankShare> share) {
    return plan_answer(
        {.model = model->info(), .n_rows = n_rows, .output = "predict_proba", .tile = kTile, .share = share});
  };
  const MemoryPlan alone = plan(kRows, {}), first = plan(kRows, RankShare{kRows / 4, true}),
                   other = plan(kRows, RankShare{kRows / 4, false}), fewer = plan(kRows, RankShare{kTile, false});
  EXPECT_EQ(first.needed_bytes, alone.needed_bytes);   // it writes the whole answer
  EXPECT_EQ(other.needed_bytes, kRows / 4 * 2 * kNumber);
  EXPECT_EQ(plan(kRows, RankShare{0, false}).needed_bytes, 0);
  EXPECT_GT(first.peak_bytes, alone.peak_bytes);   // the others' answers arrive
  constexpr std::int64_t kTwice = 2;               // as they leave, too
  EXPECT_EQ(other.peak_bytes - fewer.peak_bytes, (kRows / 4 - kTile) * 2 * kNumber * (1 + kTwice));
}

TEST_F(AskedModel, IsPredictedAndMeasured) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is in the way";
#endif
  write(8000);   // some tiles
  const auto model = polynomial(3);
  ASSERT_LT(tile_rows(model->info()), 4000);
  const schema::Result result = run(*model, schema::Predict{.model = "mdl_1"});
  ASSERT_TRUE(result.memory);
  EXPECT_GT(result.memory->peakBytes, 0);
  EXPECT_GE(result.memory->predictedBytes, result.memory->peakBytes);
  EXPECT_LE(result.memory->neededBytes, result.memory->peakBytes);
}

TEST_F(AskedModel, IsRefusedWithBothNumbersWhereTheAnswerCannotFit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has no address space to spare";
#endif
  write(4000);
  const auto model = fitted({{"PolynomialFeatures", {{"degree", std::int64_t{3}}}}});
  const LittleMemory little(std::int64_t{256} << 20);
  try {
    run(*model, schema::Transform{.model = "mdl_1"});
    FAIL() << "a matrix of 4,000 x 12,341 was made";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message, StartsWith("PolynomialFeatures needs at least "));
    EXPECT_THAT(error.message, HasSubstr("MiB are available"));
  }
  const DatasetFile data(folder_.path() / "small.kedge");
  const ModelRows rows = DatasetRows(model->info(), data, 4000).rows(0, 4000);
  EXPECT_THROW(answer_rows(ctx_, *model, rows, "transform"), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
