// What a job says of its memory: a refusal before anything is computed, or the prediction beside what it took.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "engine/backend/loader.h"
#include "engine/memory_plan.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kRows = 2000, kCols = 40;

// A table of numbers with two classes, on disk.
class MemoryOfAJob : public ::testing::Test {
 protected:
  MemoryOfAJob() {
    std::vector<ColumnInfo> columns;
    for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
    columns.push_back(nominal("y", {"a", "b"}));
    std::vector<double> values;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kCols; ++j)
        values.push_back(static_cast<double>((i * (j + 3)) % 17) + static_cast<double>(i % 2));
      values.push_back(static_cast<double>(i % 2));
    }
    path_ = write_dataset(folder_.path(), std::move(columns), values, "y");
  }
  schema::JobSpec polynomial(std::int64_t degree, schema::Task task) const {
    return {.dataset = {schema::StoredRef{"made"}},
            .pipeline = {{"PolynomialFeatures", {{"degree", degree}}}, {"GaussianNB", {}}},
            .task = std::move(task)};
  }
  MemoryPlan plan(const schema::JobSpec& spec) const {
    const CheckedJob job = check_job(spec);
    const DatasetFile data(path_);
    const Selection selection = select_features(spec.select, data.meta());
    const TaskTarget target = read_target(spec.select, data, selection.n_rows, TargetKind::kClasses, "GaussianNB");
    return plan_memory({.job = job, .meta = data.meta(), .selection = selection, .target = target});
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  std::unique_ptr<Device> device_ = open_device("cpu");
};

TEST_F(MemoryOfAJob, IsRefusedBeforeAnythingIsComputedWhereItCannotFit) {
  std::vector<schema::EventBody> events;
  const Context ctx{.device = *device_, .emit = [&](schema::EventBody body) { events.push_back(std::move(body)); }};
  try {
    Pipeline::build(polynomial(6, schema::CrossValidate{})).run(ctx, DatasetFile(path_));
    FAIL() << "a matrix of 2,000 x 9,366,819 was made";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory);
    EXPECT_EQ(error.where, "pipeline[0]");
    EXPECT_THAT(error.message, StartsWith("PolynomialFeatures needs "));
    EXPECT_THAT(error.message, HasSubstr("MiB of memory at the peak of this job, "));
    EXPECT_THAT(error.message, HasSubstr("MiB are available"));
  }
  for (const schema::EventBody& event : events) {
    const auto* timing = std::get_if<schema::TimingEvent>(&event);
    EXPECT_TRUE(timing && timing->phase == "load") << "something was done beyond reading the target";
  }
}

TEST_F(MemoryOfAJob, IsPredictedAndMeasured) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is in the way";
#endif
  std::string said;
  const Context ctx{.device = *device_, .emit = [&](schema::EventBody body) {
                      const auto* log = std::get_if<schema::LogEvent>(&body);
                      if (log && log->message.starts_with("memory: ")) said = log->message;
                    }};
  Pipeline::build(polynomial(3, schema::CrossValidate{.cv = 2})).run(ctx, DatasetFile(path_));
  long predicted = 0, measured = 0;
  ASSERT_EQ(std::sscanf(said.c_str(), "memory: %ld MiB predicted at the peak, %ld MiB measured", &predicted, &measured), 2)
      << said;
  constexpr long kMadeMib = kRows / 2 * 12341 * 8 >> 20;   // of a fold's rows, all columns of degree up to 3
  EXPECT_GE(measured, kMadeMib);
  EXPECT_GE(predicted, measured);
}

TEST_F(MemoryOfAJob, CountsOnceWhatTheCandidatesOfASearchShare) {
  const schema::CrossValidate cv{.cv = 2};
  const auto search = [&](schema::ValueList degrees, schema::ValueList smoothing) {
    return plan(polynomial(2,
                           schema::GridSearch{.paramGrid = schema::ValueMap{{"polynomialfeatures__degree", std::move(degrees)},
                                                                            {"gaussiannb__var_smoothing", std::move(smoothing)}},
                                              .crossValidate = cv}))
        .peak_bytes;
  };
  const std::int64_t one = search({2}, {1e-9}), many = search({2}, {1e-9, 1e-8, 1e-7}), two = search({1, 2}, {1e-9});
  EXPECT_EQ(many, one);
  EXPECT_GT(two, one);
  EXPECT_GT(one, plan(polynomial(2, cv)).peak_bytes);   // the rows that a fold transformed stay until it is done
}

}   // namespace
}   // namespace kedge::engine
