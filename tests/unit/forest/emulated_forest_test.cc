// The CUDA kernels of the forest, run on the CPU, against the CPU's own code: bit for bit the same.
#include <gtest/gtest.h>

#include "engine/backend/cpu/trees/trees.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/trees_factory.h"
#include "tests/support/launch_log.h"
#include "tests/unit/forest/forest_check.h"

namespace kedge::engine::test {
namespace {

class EmulatedForest : public testing::TestWithParam<Case> {};

TEST_P(EmulatedForest, IsTheForestOfTheCpu) {
  HostMemory memory;
  CudaRuntime runtime({.seed = 5});
  const kedge::test::LaunchLog log(runtime);
  const Grown emulated = run_case(*make_cuda_trees(runtime), runtime, GetParam());
  const ForestOptions& options = GetParam().options;
  EXPECT_EQ(log.has(options.splitter == Splitter::kRandom ? "cut_columns" : "score_columns"), grows_in_kernels(GetParam()));
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, GetParam()), emulated);
}

INSTANTIATE_TEST_SUITE_P(Host, EmulatedForest, testing::ValuesIn(host_cases(1)), [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedForest, testing::ValuesIn(forest_cases(1)), [](const auto& info) { return info.param.name; });

TEST(EmulatedForestEdges, LooksPastConstantColumnsAsTheCpuDoes) {
  Data data{40, 90, 2, std::vector<float>(3600, 5.0F), {}};
  for (std::int32_t i = 0; i < 40; ++i) data.X[i * 90 + 61] = static_cast<float>(i % 7), data.y.push_back(i % 7 >= 3);
  const Case c{"", data, {.n_trees = 3, .max_features = 2, .seed = 2}};
  HostMemory memory;
  CudaRuntime runtime({.seed = 6});
  const Grown grown = run_case(*make_cuda_trees(runtime), runtime, c);
  EXPECT_EQ(grown.forest.feature[0], 61);
  expect_same(run_case(*make_cpu_trees(memory, 1), memory, c), grown);
}

}  // namespace
}  // namespace kedge::engine::test
