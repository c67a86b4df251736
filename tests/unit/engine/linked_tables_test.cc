// Tables that lie in host memory because a GPU's own does not hold them: the bits of a GPU that holds them, within its
// memory, with a warning; and what is refused.
#include "engine/backend/linked_tables.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/pipeline.h"
#include "engine/table/warm_tables.h"
#include "schemas/codec.h"
#include "tests/unit/engine/little_memory.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Of a table, in doubles, beside which lie the targets.
struct Size {
  std::int64_t rows, cols;
  constexpr std::int64_t bytes() const { return rows * cols * 8; }
};
constexpr Size kTable{8192, 128};
constexpr Size kTall{131072, 32};   // what Gram matrices are added up from takes some 4 MiB, of more rows no more

constexpr emulated::GpuModel gpu_for(const Size& table) {
  return {.name = "small GPU",
          .capability = 80,
          .multiprocessors = 4,
          .max_shared_bytes = 99 * 1024,
          .memory_bytes = static_cast<std::size_t>(table.bytes()) / 4};
}
constexpr emulated::GpuModel kSmall = gpu_for(kTable), kSmallForTall = gpu_for(kTall);

std::unique_ptr<Device> small_gpu(const emulated::GpuModel& model = kSmall) {
  return make_cuda_device({.seed = 3, .model = &model});
}

emulated::DeviceMemory& memory_of(Device& device) {
  return static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory;
}

// Numbers of few digits in which two classes differ, and a value that most columns add to.
std::filesystem::path written_table(const TemporaryFolder& folder, const Size& size) {
  std::vector<ColumnInfo> columns;
  for (std::int64_t j = 0; j < size.cols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
  columns.push_back(nominal("label", {"a", "b"}));
  columns.push_back(numeric("value"));
  std::vector<double> values;
  std::uint64_t n = 1;
  for (std::int64_t i = 0; i < size.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < size.cols; ++j) {
      n = n * 6364136223846793005U + 1442695040888963407U;
      values.push_back(static_cast<double>(n >> 56) / 16 + static_cast<double>(j % 3 == 0 ? i % 2 * 4 : 0));
      sum += static_cast<double>(j % 7) * values.back();
    }
    values.push_back(static_cast<double>(i % 2));
    values.push_back(sum);
  }
  return write_dataset(folder.path(), std::move(columns), values, "label");
}
const std::filesystem::path& table_path() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = written_table(folder, kTable);
  return path;
}
const std::filesystem::path& tall_path() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = written_table(folder, kTall);
  return path;
}

constexpr const char* kFit = R"({"fit": {}})";

// A job on all columns of numbers: its steps, and the target of the last one.
schema::JobSpec job_of(const std::string& steps, const std::string& task = kFit, const Size& size = kTable) {
  const bool is_value = steps.find("Ridge") != std::string::npos;
  std::string columns;
  for (std::int64_t j = 0; j < size.cols; ++j) columns += fmt::format(R"({}"x{}")", j ? ", " : "", j);
  return schema::from_json<schema::JobSpec>(
      fmt::format(R"({{"dataset": {{"stored": "made"}}, "select": {{"target": "{}", "columns": [{}], "rows": {}}},
                      "pipeline": [{}], "task": {}}})",
                  is_value ? "value" : "label", columns, size.rows, steps, task));
}

struct Outcome {
  std::string result, model;   // without times
  std::vector<std::string> warnings;
};

Outcome run(Device& device, const schema::JobSpec& spec, const Warm& warm = {},
            const std::filesystem::path& path = table_path()) {
  RunFiles files{.model_file = "/nonexistent/model", .keep = std::size_t{64} << 20};
  schema::Result result = Pipeline::build(spec).run({.device = device}, DatasetFile(path), warm, &files);
  Outcome outcome{.result = {}, .model = files.model_bytes, .warnings = std::move(result.warnings)};
  result.timings = {}, result.memory = {}, result.device = {}, result.warnings.clear();
  outcome.result = schema::to_json(result);
  return outcome;
}

schema::Error error_of(Device& device, const schema::JobSpec& spec) {
  try {
    run(device, spec);
  } catch (const schema::Error& error) {
    return error;
  }
  return {schema::ErrorCode::kInternal, "it did not fail"};
}

struct LinkedJob {
  std::string name, steps, task = kFit;
  bool is_tall = false;
  friend void PrintTo(const LinkedJob& job, std::ostream* out) { *out << job.name; }
};

class LinkedJobs : public testing::TestWithParam<LinkedJob> {};

TEST_P(LinkedJobs, GiveTheBitsOfAGpuThatHoldsTheTable) {
  const Size size = GetParam().is_tall ? kTall : kTable;
  const std::filesystem::path& path = GetParam().is_tall ? tall_path() : table_path();
  const emulated::GpuModel& model = GetParam().is_tall ? kSmallForTall : kSmall;
  const schema::JobSpec spec = job_of(GetParam().steps, GetParam().task, size);
  const auto large = make_cuda_device({.seed = 3}), small = small_gpu(model);
  const Outcome held = run(*large, spec, {}, path), linked = run(*small, spec, {}, path);
  EXPECT_THAT(held.warnings, Each(Not(HasSubstr("host memory"))));
  EXPECT_THAT(linked.warnings,
              Contains(fmt::format("the table ({}.0 MiB) does not fit this GPU's {}.0 MiB free; it stays in host "
                                   "memory and is read over the link, which takes longer",
                                   size.bytes() >> 20, model.memory_bytes >> 20)));
  EXPECT_EQ(linked.result, held.result);
  EXPECT_TRUE(linked.model == held.model);
  const emulated::DeviceMemory& memory = memory_of(*small);
  if (!memory.region()) return;   // the address sanitizer's blocks are not counted
  EXPECT_LE(memory.peak_bytes(), model.memory_bytes);
  EXPECT_GT(memory_of(*large).peak_bytes(), model.memory_bytes);
  EXPECT_EQ(memory.linked_bytes(), 0U);
  RecordProperty("peak_bytes", static_cast<int>(memory.peak_bytes()));
}

INSTANTIATE_TEST_SUITE_P(
    All, LinkedJobs,
    testing::Values(LinkedJob{"Scaler", R"({"estimator": "StandardScaler"})"},
                    LinkedJob{"Components", R"({"estimator": "PCA", "params": {"n_components": 5}})", kFit, true},
                    LinkedJob{"Clusters", R"({"estimator": "StandardScaler"},
                                 {"estimator": "KMeans", "params": {"n_clusters": 3, "n_init": 1, "max_iter": 3, "random_state": 0}})"},
                    LinkedJob{"Line", R"({"estimator": "Ridge"})", kFit, true},
                    LinkedJob{"Logistic", R"({"estimator": "StandardScaler"},
                                 {"estimator": "LogisticRegression", "params": {"max_iter": 20}})"},
                    LinkedJob{"Bayes", R"({"estimator": "GaussianNB"})"},
                    LinkedJob{"Forest", R"({"estimator": "RandomForestClassifier",
                                "params": {"n_estimators": 3, "max_depth": 4, "random_state": 0}})"},
                    LinkedJob{
                        "MadeTable",
                        R"({"estimator": "Binarizer", "params": {"threshold": 8.0}}, {"estimator": "GaussianNB"})"},
                    LinkedJob{"Folds", R"({"estimator": "StandardScaler"}, {"estimator": "GaussianNB"})",
                              R"({"crossValidate": {"cv": 2}})"}),
    [](const auto& info) { return info.param.name; });

constexpr Size kFewRows{kTable.rows / 32, kTable.cols};
constexpr const char* kBayes = R"({"estimator": "GaussianNB"})";

TEST(LinkedTables, AreNotUsedWhereTheTableFits) {
  const auto small = small_gpu();
  EXPECT_THAT(run(*small, job_of(kBayes, kFit, kFewRows)).warnings, Each(Not(HasSubstr("host memory"))));
}

TEST(LinkedTables, AreNotKeptForLaterJobsAndMakeRoomForTheirs) {
  const auto small = small_gpu();
  WarmTables tables({.tables = 4});
  const Warm warm{.tables = &tables, .data = "made"};
  run(*small, job_of(kBayes, kFit, kFewRows), warm);
  EXPECT_EQ(tables.size(), 1U);
  EXPECT_THAT(run(*small, job_of(kBayes), warm).warnings, Contains(StartsWith("the table (8.0 MiB) does not fit")));
  EXPECT_EQ(memory_of(*small).linked_bytes(), 0U);
  EXPECT_EQ(tables.size(), 0U);   // there was no room for the first one
}

TEST(LinkedTables, DoNotHelpAJobWhoseOtherArraysDoNotFit) {
  const auto small = small_gpu();
  const schema::Error error =
      error_of(*small, job_of(R"({"estimator": "StandardScaler"}, {"estimator": "KernelRidge"})"));
  EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory) << error.message;
  EXPECT_EQ(error.where, "pipeline[1]");
  EXPECT_THAT(error.message,
              AllOf(StartsWith("KernelRidge needs at least "),
                    HasSubstr("also with the table (8.0 MiB) in host memory; this GPU has 2.0 MiB free")));
  EXPECT_EQ(memory_of(*small).peak_bytes(), 0U);   // refused before anything is computed
}

TEST(LinkedTables, AreRefusedWhereTheHostHasNoMemoryForThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has no address space to spare";
#endif
  const auto small = small_gpu();
  const schema::JobSpec spec = job_of(kBayes);
  table_path();                                        // is written with more memory
  const LittleMemory little(std::int64_t{36} << 20);   // less than 40: the table, and 32 of any plan
  const schema::Error error = error_of(*small, spec);
  EXPECT_EQ(error.code, schema::ErrorCode::kOutOfMemory) << error.message;
  EXPECT_EQ(error.where, "select.rows");
  EXPECT_THAT(error.message,
              AllOf(StartsWith("the table (8.0 MiB) does not fit this GPU's 2.0 MiB free, and host memory"),
                    HasSubstr("of the 40.0 MiB that it takes")));
}

TEST(LinkedMemory, IsOutsideOfWhatTheDeviceHas) {
  constexpr std::size_t kTwice = 2 * kSmall.memory_bytes;
  const auto small = small_gpu();
  LinkedMemory& linked = linked_tables(*small)->linked_memory();
  EXPECT_THROW(Array<double>(small->memory(), kTwice / 8), schema::Error);
  const Array<double> array(linked, kTwice / 8);
  EXPECT_EQ(memory_of(*small).own_bytes(), 0U);
  if (memory_of(*small).region()) {   // not under the address sanitizer
    EXPECT_EQ(memory_of(*small).linked_bytes(), kTwice);
  }
}

TEST(LinkedMemory, IsReadByOpsAfterItWasWritten) {
  const auto small = small_gpu();
  LinkedMemory& linked = linked_tables(*small)->linked_memory();
  Matrix<double> rows(linked, 2, 2), copy(small->memory(), 2, 2);
  EXPECT_NE(rows.to_host()[0], rows.to_host()[0]) << "NaN until it is written";
  const std::vector<double> values{1, 2, 3, 4};
  linked.write(rows.data(), 32, [&](std::byte* to) { std::memcpy(to, values.data(), 32); });
  small->f64().tables->gather(std::as_const(rows).view(), {}, {}, {}, copy.view());
  EXPECT_EQ(copy.to_host(), values);
  rows.zero();
  EXPECT_EQ(rows.to_host(), std::vector<double>(4));
}

TEST(LinkedMemory, IsNotTheHostsToTouchWhileOpsMayReadIt) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "memory is not protected";
#endif
  const auto small = small_gpu();
  LinkedMemory& linked = linked_tables(*small)->linked_memory();
  auto* const bytes = static_cast<volatile char*>(linked.allocate(64));
  EXPECT_DEATH(bytes[0] = 1, "");
  linked.deallocate(const_cast<char*>(bytes));
}

TEST(LinkScope, LinksArraysFromASizeOnWhileItLives) {
  const auto small = small_gpu();
  {
    const LinkScope scope(*small, 4096);
    EXPECT_EQ(&table_memory(*small, 4095), &small->memory());
    EXPECT_EQ(&table_memory(*small, 4096), &linked_tables(*small)->linked_memory());
  }
  EXPECT_EQ(&table_memory(*small, 4096), &small->memory());
}

}   // namespace
}   // namespace kedge::engine
