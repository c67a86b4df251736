// IncrementalPCA where all components are kept: blocks of many batches give what all rows at once give.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/decomposition/incremental_pca.h"
#include "engine/estimators/decomposition/pca.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

// Columns of other scales and means, and rows whose mean moves.
Data drifting(std::int64_t n_rows, std::int64_t n_cols) {
  Data data{.n_rows = n_rows, .n_cols = n_cols, .classes = {"0"}};
  PhiloxStream random(3, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    for (std::int64_t j = 0; j < n_cols; ++j)
      data.X.push_back(static_cast<double>(j % 7 + 1) * random.uniform() + static_cast<double>(i) / n_rows +
                       static_cast<double>(j));
    data.y.push_back(0);
  }
  return data;
}

std::vector<double> numbers(const Estimator<double>& fitted, const char* name) {
  return std::get<std::vector<double>>(find_value(fitted.attributes(), name)->data);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance * std::abs(expected[i])) << i;
}

TEST(IncrementalPCA, ThatKeepsAllComponentsIsPcaOverSeveralBlocks) {
  constexpr std::int64_t kCols = 400;
  const std::int64_t n = 2 * incremental_block_rows(kCols) + 77;
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = drifting(n, kCols);
  const testing::Loaded<double> loaded(testing::device_named("cpu"), data);
  IncrementalPCA<double> batches(schema::ValueMap{});
  batches.fit(ctx, loaded.all(), Target{});
  PCA<double> all(schema::ValueMap{});
  all.fit(ctx, loaded.all(), Target{});
  expect_near(numbers(batches, "explained_variance_"), numbers(all, "explained_variance_"), 1e-9);
  expect_near(numbers(batches, "mean_"), numbers(all, "mean_"), 1e-12);
  EXPECT_EQ(std::get<std::int64_t>(find_value(batches.attributes(), "n_samples_seen_")->data), n);
  EXPECT_EQ(std::get<std::int64_t>(find_value(batches.attributes(), "batch_size_")->data), 5 * kCols);
}

// 40 batches: what a GPU is asked for does not grow with them.
TEST(IncrementalPCA, ThatKeepsAllComponentsWaitsOnceForManyBatches) {
  Device& gpu = testing::device_named("emulated");
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(gpu.memory()).stream())->memory;
  std::vector<std::int64_t> waits;
  for (const std::int64_t n : {20, 800}) {
    const Data data = drifting(n, 4);
    const testing::Loaded<double> loaded(gpu, data);
    IncrementalPCA<double> fitted(schema::ValueMap{});
    const std::int64_t before = memory.syncs;
    fitted.fit({.device = gpu}, loaded.all(), Target{});
    waits.push_back(memory.syncs - before);
  }
  EXPECT_EQ(waits[0], waits[1]);
}

}   // namespace
}   // namespace kedge::engine
