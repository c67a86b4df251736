// Tables that stay on their device between jobs: which are found again, and which are dropped first.
#include "engine/table/warm_tables.h"

#include <gtest/gtest.h>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/builtin_data.h"

namespace kedge::engine {
namespace {

std::shared_ptr<Table<float>> table_of(std::int64_t n_rows) {
  auto table = std::make_shared<Table<float>>();
  table->X = Matrix<float>(cpu().memory(), n_rows, 1);
  return table;
}

Selection first_rows(std::int64_t n_rows) {
  Selection selection;
  selection.n_rows = n_rows;
  selection.columns = {0};
  return selection;
}

TEST(WarmTables, AreFoundByDataSelectionAndPrecision) {
  WarmTables tables({.tables = 3});
  const auto table = table_of(5);
  tables.add("a", first_rows(5), table);
  EXPECT_EQ(tables.find<float>("a", first_rows(5)), table);
  EXPECT_EQ(tables.find<float>("b", first_rows(5)), nullptr);
  EXPECT_EQ(tables.find<float>("a", first_rows(4)), nullptr);
  EXPECT_EQ(tables.find<double>("a", first_rows(5)), nullptr);
}

TEST(WarmTables, DropTheLeastRecentlyUsedBeyondTheirNumber) {
  WarmTables tables({.tables = 2});
  tables.add("a", first_rows(5), table_of(5));
  tables.add("b", first_rows(5), table_of(5));
  tables.find<float>("a", first_rows(5));
  tables.add("c", first_rows(5), table_of(5));
  EXPECT_NE(tables.find<float>("a", first_rows(5)), nullptr);
  EXPECT_EQ(tables.find<float>("b", first_rows(5)), nullptr);
  EXPECT_NE(tables.find<float>("c", first_rows(5)), nullptr);
}

TEST(WarmTables, DropOlderTablesBeyondTheirBytesAndNeverTheLastOne) {
  WarmTables tables({.tables = 8, .bytes = 1000});
  tables.add("large", first_rows(5000), table_of(5000));
  EXPECT_EQ(tables.size(), 1U);
  tables.add("small", first_rows(5), table_of(5));
  EXPECT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables.find<float>("large", first_rows(5000)), nullptr);
  tables.add("next", first_rows(5), table_of(5));
  EXPECT_EQ(tables.size(), 2U);
}

TEST(WarmTables, CountWhatARunMakesOfATable) {
  Table<float> table = std::move(*table_of(100));
  EXPECT_EQ(size_in_bytes(table), 400);
  table.dense = std::make_shared<Table<float>>(std::move(*table_of(10)));
  EXPECT_EQ(size_in_bytes(table), 440);
}

std::shared_ptr<const TaskTarget> target_of(TargetKind kind, std::int64_t n_rows) {
  auto target = std::make_shared<TaskTarget>();
  target->kind = kind, target->codes.resize(static_cast<std::size_t>(n_rows));
  return target;
}

TEST(WarmTables, KeepTheTargetOfTheLastRun) {
  WarmTables tables({.tables = 2});
  const schema::Select own{.target = "y"}, other{.target = "z"};
  EXPECT_EQ(tables.find_target(own, TargetKind::kClasses), nullptr);
  tables.keep_target(own, target_of(TargetKind::kClasses, 5));   // of no table
  tables.add("a", first_rows(5), table_of(5));
  EXPECT_EQ(tables.find_target(own, TargetKind::kClasses), nullptr);
  const auto target = target_of(TargetKind::kClasses, 5);
  tables.keep_target(own, target);
  EXPECT_EQ(tables.find_target(own, TargetKind::kClasses), target);
  EXPECT_EQ(tables.find_target(other, TargetKind::kClasses), nullptr);
  EXPECT_EQ(tables.find_target(own, TargetKind::kValues), nullptr);
  tables.add("b", first_rows(5), table_of(5));
  EXPECT_EQ(tables.find_target(own, TargetKind::kClasses), nullptr);
  tables.find<float>("a", first_rows(5));
  EXPECT_EQ(tables.find_target(own, TargetKind::kClasses), target);
}

TEST(WarmTables, CountTheTargetsOfOlderTables) {
  WarmTables tables({.tables = 8, .bytes = 1000});
  tables.add("a", first_rows(5), table_of(5));
  tables.keep_target({}, target_of(TargetKind::kClasses, 500));
  tables.add("b", first_rows(5), table_of(5));
  EXPECT_EQ(tables.size(), 1U);
}

// Bytes that a job sends to an emulated GPU.
std::int64_t sent(Device& gpu, schema::JobSpec spec, const std::string& data, WarmTables& warm) {
  spec.dataset = {schema::BuiltinRef{data}};
  auto& runtime = static_cast<CudaRuntime&>(gpu.memory());
  const emulated::DeviceMemory& memory = static_cast<emulated::Emulator*>(runtime.stream())->memory;
  const std::int64_t before = memory.bytes_to_device;
  Pipeline::build(spec).run({.device = gpu}, builtin(data), {&warm, data});
  return memory.bytes_to_device - before;
}

TEST(WarmTables, OfAGpuSpareTheUploadWhenJobsOnTwoDataSetsAlternate) {
  const auto gpu = make_cuda_device({});
  WarmTables warm(WarmTables::usual_bounds(gpu->info()));
  const schema::JobSpec spec{.pipeline = {{"StandardScaler", {}}}, .task = schema::Fit{}};
  const std::int64_t iris = sent(*gpu, spec, "iris", warm), wine = sent(*gpu, spec, "wine", warm);
  EXPECT_GT(iris, 150 * 4 * 8 - 1);
  EXPECT_LE(sent(*gpu, spec, "iris", warm), iris - 150 * 4 * 8);
  EXPECT_LE(sent(*gpu, spec, "wine", warm), wine - 178 * 13 * 8);
}

// What is left does not grow with the rows.
TEST(WarmTables, OfAGpuSpareTheUploadOfTheTarget) {
  constexpr std::int64_t kRows = 442, kColumns = 10;
  for (const char* estimator : {"Ridge", "Lasso"}) {
    const auto gpu = make_cuda_device({});
    WarmTables warm(WarmTables::usual_bounds(gpu->info()));
    const schema::JobSpec spec{.pipeline = {{estimator, {}}}, .task = schema::Fit{}};
    const std::int64_t first = sent(*gpu, spec, "diabetes", warm), second = sent(*gpu, spec, "diabetes", warm);
    EXPECT_LE(second, first - kRows * (kColumns + 1) * 8) << estimator;
    EXPECT_LT(second, kRows * 8) << estimator;
  }
}

TEST(WarmTables, OfAGpuReadAnotherTargetAnew) {
  const auto gpu = make_cuda_device({});
  WarmTables warm(WarmTables::usual_bounds(gpu->info()));
  const auto fitted = [&](const char* target) {
    schema::JobSpec spec{.dataset = {schema::BuiltinRef{"diabetes"}},
                         .select = {.columns = {"bmi", "bp"}, .target = target},
                         .pipeline = {{"Ridge", {}}},
                         .task = schema::Fit{}};
    return Pipeline::build(spec).run({.device = *gpu}, builtin("diabetes"), {&warm, "diabetes"}).fitted;
  };
  const auto by_target = fitted("target"), by_age = fitted("age");
  EXPECT_FALSE(by_target == by_age);
  EXPECT_EQ(fitted("target"), by_target);
}

}   // namespace
}   // namespace kedge::engine
