// What a job says of its memory: a refusal before anything is computed, or the prediction with what it took.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "engine/backend/loader.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/comm/threads.h"
#include "engine/core/gpu_memory.h"
#include "engine/memory/memory_plan.h"
#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/little_memory.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kRows = 2000, kCols = 40;

// A table of numbers with two classes, on disk.
class MemoryOfAJob : public ::testing::Test {
 protected:
  MemoryOfAJob() : path_(write(folder_, [](std::int64_t i) { return i % 2; })) {}

  // With these classes by row, which the columns tell apart if they alternate.
  static std::filesystem::path write(const TemporaryFolder& folder, const std::function<std::int64_t(std::int64_t)>& class_of) {
    std::vector<ColumnInfo> columns;
    for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
    columns.push_back(nominal("y", {"a", "b"}));
    std::vector<double> values;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kCols; ++j)
        values.push_back(static_cast<double>((i * (j + 3)) % 17) + static_cast<double>(i % 2) + static_cast<double>(i) / kRows);
      values.push_back(static_cast<double>(class_of(i)));
    }
    return write_dataset(folder.path(), std::move(columns), values, "y");
  }
  schema::JobSpec polynomial(std::int64_t degree, schema::Task task) const {
    return {.dataset = {schema::StoredRef{"made"}},
            .select = {.target = "y"},
            .pipeline = {{"PolynomialFeatures", {{"degree", degree}}}, {"GaussianNB", {}}},
            .task = std::move(task)};
  }
  static schema::JobSpec forest(std::int64_t n_estimators) {
    return {.dataset = {schema::StoredRef{"made"}},
            .select = {.target = "y"},
            .pipeline = {{"RandomForestClassifier", {{"n_estimators", n_estimators}}}},
            .task = schema::Fit{}};
  }
  // The error with which the job ends.
  schema::Error error_of(const schema::JobSpec& spec, const std::filesystem::path& path) const {
    try {
      Pipeline::build(spec).run({.device = *device_}, DatasetFile(path));
    } catch (const schema::Error& error) {
      return error;
    }
    return {schema::ErrorCode::kInternal, "it did not fail"};
  }
  MemoryPlan plan(const schema::JobSpec& spec, std::optional<bool> has_few_values = std::nullopt) const {
    const CheckedJob job = check_job(spec);
    const DatasetFile data(path_);
    const Selection selection = select_features(spec.select, data.meta());
    const TaskTarget target = read_target(spec.select, data, selection.n_rows, TargetKind::kClasses, "GaussianNB");
    return plan_memory(
        {.job = job, .meta = data.meta(), .selection = selection, .target = target, .is_host = true, .has_few_values = has_few_values});
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
    EXPECT_THAT(error.message, StartsWith("PolynomialFeatures needs at least "));
    EXPECT_THAT(error.message, HasSubstr("MiB of memory at the peak of this job, "));
    EXPECT_THAT(error.message, HasSubstr("MiB are available"));
  }
  for (const schema::EventBody& event : events) {
    const auto* timing = std::get_if<schema::TimingEvent>(&event);
    EXPECT_TRUE(timing && timing->phase == "load") << "something was done beyond reading the target";
  }
}

TEST_F(MemoryOfAJob, IsRefusedWhereTheTableOfAnEmbeddingCannotFit) {
  const auto with_codes = [&](std::int64_t n_codes) {
    const schema::Value table = schema::ValueMap{
        {"embedding",
         schema::ValueMap{{"columns", schema::ValueList{0}}, {"input_dim", n_codes}, {"output_dim", 1 << 22}}}};
    return schema::JobSpec{.dataset = {schema::StoredRef{"made"}},
                           .select = {.target = "y"},
                           .pipeline = {{"KBinsDiscretizer", {{"encode", "ordinal"}, {"n_bins", 4}}},
                                        {"MLPClassifier", {{"layers", schema::ValueList{table, "dense(4, relu)"}}}}},
                           .task = schema::Fit{}};
  };
  const schema::Error error = error_of(with_codes(1 << 24), path_);
  EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory);
  EXPECT_EQ(error.where, "pipeline[1]");
  EXPECT_THAT(error.message, StartsWith("MLPClassifier needs at least "));
}

// A GPU of 64 GiB, of which other processes have left 100 MiB.
class SharedGpu final : public Device {
 public:
  SharedGpu() : cpu_(open_device("cpu")) {}
  const DeviceInfo& info() const override { return info_; }
  Memory& memory() override { return memory_; }
  Backend<float>& f32() override { return cpu_->f32(); }
  Backend<double>& f64() override { return cpu_->f64(); }
  TreeOps& trees() override { return cpu_->trees(); }

 private:
  class Left final : public Memory, public GpuMemory {
   public:
    explicit Left(Memory& inner) : inner_(inner) {}
    void* allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
    void deallocate(void* p) noexcept override { inner_.deallocate(p); }
    void to_device(void* device, const void* host, std::size_t bytes) override {
      inner_.to_device(device, host, bytes);
    }
    void to_host(void* host, const void* device, std::size_t bytes) override { inner_.to_host(host, device, bytes); }
    void copy(void* to, const void* from, std::size_t bytes) override { inner_.copy(to, from, bytes); }
    void zero(void* p, std::size_t bytes) override { inner_.zero(p, bytes); }
    void synchronize() override { inner_.synchronize(); }
    std::int64_t free_bytes() const override { return std::int64_t{32} << 20; }
    void trim() override {}
    std::size_t upload_bytes() const override { return 1 << 20; }
    void upload(void* device, std::size_t, const std::function<void(std::byte*)>& write) override {
      write(static_cast<std::byte*>(device));
    }

   private:
    Memory& inner_;
  };
  std::unique_ptr<Device> cpu_;
  Left memory_{cpu_->memory()};
  DeviceInfo info_{.kind = DeviceKind::kCuda, .name = "shared", .memory_bytes = std::int64_t{64} << 30};
};

TEST_F(MemoryOfAJob, IsPlannedWithWhatIsFreeOfAGpu) {
  SharedGpu gpu;
  const Context ctx{.device = gpu};
  EXPECT_EQ(memory_for_job(ctx), std::int64_t{32} << 20);
  try {
    Pipeline::build(polynomial(3, schema::CrossValidate{.cv = 2})).run(ctx, DatasetFile(path_));
    FAIL() << "more was made than is free";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message, HasSubstr("at the peak of this job, 32 MiB are available"));
  }
}

// The plan of a fit of these steps on so many rows of 8 columns of doubles.
MemoryPlan plan_of_rows(const std::vector<schema::Step>& steps, std::int64_t n_rows, schema::Task task = schema::Fit{},
                        Ranks* ranks = nullptr) {
  const CheckedJob job = check_job(
      {.dataset = {schema::StoredRef{"made"}}, .select = {.target = "y"}, .pipeline = steps, .task = std::move(task)});
  DatasetMeta meta;
  meta.n_rows = n_rows, meta.n_values_columns = 9;
  for (int j = 0; j < 8; ++j) meta.columns.push_back(numeric("x" + std::to_string(j)));
  meta.columns.push_back(numeric("y"));
  const Selection selection = select_features(job.spec.select, meta);
  return plan_memory({.job = job, .meta = meta, .selection = selection, .target = {}, .is_host = true, .ranks = ranks});
}

std::string refusal(MemoryPlan plan, std::int64_t available_for_rows) {
  SharedGpu gpu;   // 32 MiB are free
  plan.whole_bytes = (std::int64_t{32} << 20) - available_for_rows;
  plan.needed_bytes = plan.whole_bytes + plan.divided_rows * plan.row_bytes / plan.ranks;
  plan.peak_bytes = std::int64_t{1} << 30;
  try {
    require_memory({.device = gpu}, plan);
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "it was not refused";
}

TEST(RanksThatDo, AreThoseOfWhichEachHasRoomForItsRows) {
  const std::vector<schema::Step> line{{"StandardScaler", {}}, {"Ridge", {}}};
  const MemoryPlan alone = plan_of_rows(line, std::int64_t{1} << 20);   // 64 MiB, in 64 blocks of 1 MiB
  EXPECT_EQ(alone.divided_rows, std::int64_t{1} << 20);
  EXPECT_EQ(alone.row_bytes, 64);
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  EXPECT_THAT(refusal(alone, 16 * kMiB), EndsWith(" needs at least 80 MiB of memory at the peak of this job, 32 MiB "
                                                  "are available; 4 ranks on machines with as much would do"));
  EXPECT_THAT(refusal(alone, 16 * kMiB - 1), HasSubstr("; 5 ranks on machines"));   // of 13 blocks at the most
  EXPECT_THAT(refusal(alone, 12 * kMiB), HasSubstr("; 6 ranks on machines"));       // of 11: 64 / 12 is 5.3
  EXPECT_THAT(refusal(alone, 1 * kMiB), HasSubstr("; 64 ranks on machines"));
}

TEST(RanksThatDo, AreNotNamedWhereNoNumberWould) {
  const std::vector<schema::Step> line{{"Ridge", {}}};
  constexpr std::int64_t kMiB = std::int64_t{1} << 20, kRowsOfAll = kMiB;
  EXPECT_THAT(refusal(plan_of_rows(line, kRowsOfAll), kMiB - 1), EndsWith("32 MiB are available"));   // one block
  EXPECT_THAT(refusal(plan_of_rows(line, kRowsOfAll), -1), EndsWith("32 MiB are available"));
  EXPECT_EQ(plan_of_rows({{"PolynomialFeatures", {}}, {"Ridge", {}}}, kRowsOfAll).divided_rows, 0);
  EXPECT_EQ(plan_of_rows(line, kRowsOfAll, schema::FitScore{}).divided_rows, 0);
  EXPECT_EQ(plan_of_rows(line, kLeastDealtRows - 1).divided_rows, 0);
}

TEST(RanksThatDo, AreMoreThanDivideTheTableNow) {
  const auto comms = make_thread_comms(2);
  Ranks first(*comms[0]);
  const MemoryPlan plan = plan_of_rows({{"Ridge", {}}}, std::int64_t{1} << 20, schema::Fit{}, &first);
  EXPECT_EQ(plan.ranks, 2);
  EXPECT_EQ(plan.needed_bytes - plan.whole_bytes, std::int64_t{32} << 20);
  EXPECT_THAT(refusal(plan, std::int64_t{16} << 20), HasSubstr("; 4 ranks on machines"));
}

TEST(RanksThatDo, DivideTheRowsThatAnImputerMakes) {
  const auto comms = make_thread_comms(2);
  Ranks first(*comms[0]);
  const std::vector<schema::Step> steps{{"SimpleImputer", {}}, {"Ridge", {}}};
  const MemoryPlan alone = plan_of_rows(steps, std::int64_t{1} << 20);
  const MemoryPlan divided = plan_of_rows(steps, std::int64_t{1} << 20, schema::Fit{}, &first);
  EXPECT_GE(alone.peak_bytes - divided.peak_bytes, std::int64_t{64} << 20);   // half of the table, and of as much again
}

TEST(RanksThatDo, DivideThePointsOfDbscan) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const std::vector<schema::Step> steps{{"StandardScaler", {}}, {"DBSCAN", {}}};
  const MemoryPlan alone = plan_of_rows(steps, kMiB);   // 64 MiB, and as much again, scaled
  EXPECT_EQ(alone.row_bytes, 2 * 64);
  EXPECT_EQ(alone.needed_bytes - alone.whole_bytes, 128 * kMiB);
  EXPECT_THAT(refusal(alone, 32 * kMiB), HasSubstr("; 4 ranks on machines"));
  const auto comms = make_thread_comms(4);
  Ranks first(*comms[0]);
  const MemoryPlan divided = plan_of_rows(steps, kMiB, schema::Fit{}, &first);
  EXPECT_EQ(divided.row_bytes, 2 * 64);
  EXPECT_EQ(divided.needed_bytes - divided.whole_bytes, 32 * kMiB);
  EXPECT_GE(alone.peak_bytes - divided.peak_bytes, 128 * kMiB);
  const std::vector<schema::Step> given{{"PCA", {{"n_components", 4}}}, {"DBSCAN", {}}};   // every rank has all points
  EXPECT_EQ(plan_of_rows(given, kMiB).row_bytes, 64);
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

// However small its trees turn out.
TEST_F(MemoryOfAJob, CountsTheKernelRowsThatCandidatesShareOnceAKernel) {
  const auto planned = [&](const std::vector<schema::Value>& C, const std::vector<schema::Value>& gamma) {
    const schema::GridSearch grid{.paramGrid =
                                      schema::ValueMap{{"C", schema::ValueList(C.begin(), C.end())},
                                                       {"gamma", schema::ValueList(gamma.begin(), gamma.end())}}};
    return plan({.dataset = {schema::StoredRef{"made"}},
                 .select = {.target = "y"},
                 .pipeline = {{"SVC", {}}},
                 .task = grid})
        .peak_bytes;
  };
  constexpr std::int64_t kKernel = kRows * kRows * 4;   // shared work is planned for all rows
  const std::int64_t alone = planned({1.0}, {0.1, 1.0, 10.0}), two = planned({1.0, 2.0}, {0.1, 1.0}),
                     three = planned({1.0, 2.0}, {0.1, 1.0, 10.0});
  EXPECT_EQ(alone, planned({1.0}, {0.1}));   // a kernel that one candidate has is its own
  EXPECT_GT(two, alone);
  EXPECT_NEAR(three - two, kKernel, 0.2 * kKernel);
  EXPECT_EQ(planned({1.0, 2.0, 4.0}, {0.1, 1.0, 10.0}), three);
}

TEST_F(MemoryOfAJob, CountsTheRowsOfAllSplits) {
  const auto with = [&](schema::CrossValidate cv) { return plan(polynomial(2, std::move(cv))); };
  const MemoryPlan few = with({.cv = 5}), many = with({.cv = 100'000'000, .splitter = "ShuffleSplit"}), one_out = with({.splitter = "LeaveOneOut"});
  EXPECT_GE(many.needed_bytes, 100'000'000 * kRows * 4);
  EXPECT_EQ(many.where, "task.crossValidate");
  EXPECT_EQ(many.step, "ShuffleSplit");
  EXPECT_GE(one_out.needed_bytes, kRows * kRows * 4);
  EXPECT_EQ(few.step, "PolynomialFeatures");
}

TEST_F(MemoryOfAJob, IsRefusedForAHugeParameterWithBothNumbers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has no address space to spare";
#endif
  const LittleMemory little(std::int64_t{32} << 20);
  const schema::Error error = error_of(forest(1'000'000), path_);
  EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory) << error.message;
  EXPECT_THAT(error.message, StartsWith("RandomForestClassifier needs at least "));
  EXPECT_THAT(error.message, HasSubstr("MiB are available"));
}

// Rows that one cut separates need few nodes, which is not known beforehand.
TEST_F(MemoryOfAJob, IsTriedWhereItMayFitWithAWarningThatHasBothNumbers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has no address space to spare";
#endif
  const LittleMemory little(std::int64_t{96} << 20);
  const schema::Result result = Pipeline::build(forest(1500)).run({.device = *device_}, DatasetFile(path_));
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0], StartsWith("RandomForestClassifier may need "));
  EXPECT_THAT(result.warnings[0], HasSubstr("MiB are available"));
  EXPECT_LT(result.memory->neededBytes, std::int64_t{96} << 20);
  EXPECT_GT(result.memory->predictedBytes, std::int64_t{96} << 20);
}

TEST_F(MemoryOfAJob, EndsWithAnErrorWhereItWasTriedAndDidNotFit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has no address space to spare";
#endif
  const TemporaryFolder folder;
  const std::filesystem::path noise = write(folder, [n = std::uint64_t{1}](std::int64_t) mutable {
    n = n * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>(n >> 63);
  });
  const LittleMemory little(std::int64_t{80} << 20);
  const schema::Error error = error_of(forest(3000), noise);
  EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory) << error.message;
  EXPECT_THAT(error.message, StartsWith("RandomForestClassifier took more than the "));
  EXPECT_THAT(error.message, HasSubstr("of memory that were available; at the peak it may need "));
  EXPECT_EQ(error.where, "pipeline[0]");
}

TEST_F(MemoryOfAJob, OfATreeDependsOnWhetherItsColumnsHaveFewValues) {
  const schema::JobSpec spec{
      .dataset = {schema::StoredRef{"made"}}, .pipeline = {{"DecisionTreeClassifier", {}}}, .task = schema::Fit{}};
  const auto with = [&](std::optional<bool> few) { return plan(spec, few); };
  EXPECT_LT(with(true).peak_bytes, with(false).peak_bytes);
  EXPECT_EQ(with(std::nullopt).peak_bytes, with(false).peak_bytes);      // the worst, if the file was not searched
  EXPECT_EQ(with(std::nullopt).needed_bytes, with(true).needed_bytes);   // the least
  EXPECT_LT(with(true).needed_bytes, with(false).needed_bytes);
}

// A job on iris with RandomForestClassifier as "model", and a search that puts another step in its place.
bool search_wants_value_counts(const std::string& candidate) {
  return wants_value_counts(check_job(schema::from_json<schema::JobSpec>(
      R"({"dataset": {"builtin": "iris"}, "pipeline": [{"name": "model", "estimator": "RandomForestClassifier"}],
          "task": {"gridSearch": {"paramGrid": {"model": [{"estimator": ")" +
      candidate + R"("}]}}}})")));
}

TEST(ValueCounts, AreWantedByAJobWithOneTree) {
  const auto wants = [](const char* estimator) {
    return wants_value_counts(
        check_job({.dataset = {schema::StoredRef{"made"}}, .pipeline = {{estimator, {}}}, .task = schema::Fit{}}));
  };
  EXPECT_TRUE(wants("DecisionTreeClassifier"));
  EXPECT_TRUE(wants("DecisionTreeRegressor"));
  EXPECT_FALSE(wants("RandomForestClassifier"));
  EXPECT_FALSE(wants("GaussianNB"));
}

TEST(ValueCounts, AreWantedByASearchWithACandidateThatIsOneTree) {
  EXPECT_TRUE(search_wants_value_counts("DecisionTreeClassifier"));
  EXPECT_FALSE(search_wants_value_counts("GaussianNB"));
}

}   // namespace
}   // namespace kedge::engine
