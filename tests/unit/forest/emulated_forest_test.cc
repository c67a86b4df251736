// The CUDA kernels of the forest, run on the CPU, against the CPU's own code: bit for bit the same.
#include <gtest/gtest.h>

#include "engine/backend/cpu/trees/trees.h"
#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/gpu_models.h"
#include "engine/backend/trees_factory.h"
#include "schemas/error.h"
#include "tests/support/launch_log.h"
#include "tests/unit/forest/forest_check.h"

namespace kedge::engine::test {
namespace {

Grown run_emulated(CudaRuntime& runtime, const Case& c) {
  DeviceLibraries libraries(runtime);
  return run_case(*make_cuda_trees(runtime, libraries), runtime, c);
}

class EmulatedForest : public testing::TestWithParam<Case> {};

TEST_P(EmulatedForest, IsTheForestOfTheCpu) {
  HostMemory memory;
  CudaRuntime runtime({.seed = 5});
  const kedge::test::LaunchLog log(runtime);
  const Grown emulated = run_emulated(runtime, GetParam());
  const ForestOptions& options = GetParam().options;
  EXPECT_EQ(log.has(options.splitter == Splitter::kRandom ? "cut_columns" : "score_columns"), grows_in_kernels(GetParam()));
  EXPECT_EQ(emulated.stayed.has_value(), grows_in_kernels(GetParam()));
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, GetParam()), emulated);
}

INSTANTIATE_TEST_SUITE_P(Host, EmulatedForest, testing::ValuesIn(host_cases(1)), [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedForest, testing::ValuesIn(forest_cases(1)), [](const auto& info) { return info.param.name; });

// Nodes of up to 32 rows of unweighted classes are finished by warps; the case says which forests have them.
struct Finished {
  std::string name;
  ForestOptions options;
  bool by_warps = true;
  friend void PrintTo(const Finished& c, std::ostream* out) { *out << c.name; }
};
class EmulatedForestOfSmallNodes : public testing::TestWithParam<Finished> {};

TEST_P(EmulatedForestOfSmallNodes, IsTheForestOfTheCpu) {
  const Case c{"", make_data(400, 70, 40, 6, 0.5, 12), GetParam().options};
  HostMemory memory;
  CudaRuntime runtime({.seed = 8});
  const kedge::test::LaunchLog log(runtime);
  const Grown emulated = run_emulated(runtime, c);
  EXPECT_EQ(log.has("finish_nodes"), GetParam().by_warps);
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, c), emulated);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, EmulatedForestOfSmallNodes,
    testing::Values(Finished{"plain", {.n_trees = 3, .max_features = 8, .seed = 3}},
                    Finished{"one column", {.n_trees = 2, .max_features = 1, .seed = 3}},
                    Finished{"64 columns", {.n_trees = 1, .max_features = 64, .seed = 3}},
                    Finished{"65 columns", {.n_trees = 1, .max_features = 65, .max_depth = 5, .seed = 3}, false},
                    Finished{"odd depth", {.n_trees = 2, .max_features = 8, .max_depth = 7, .seed = 4}},
                    Finished{"even depth", {.n_trees = 2, .max_features = 8, .max_depth = 8, .seed = 4}},
                    Finished{"leaves of 3", {.n_trees = 2, .max_features = 8, .min_samples_leaf = 3, .seed = 5}},
                    Finished{"splits of 9", {.n_trees = 2, .max_features = 8, .min_samples_split = 9, .seed = 5}},
                    Finished{"leaves of weight",
                             {.n_trees = 2, .max_features = 8, .min_weight_fraction_leaf = 0.01, .seed = 6}},
                    Finished{"decrease", {.n_trees = 2, .max_features = 8, .min_impurity_decrease = 0.002, .seed = 6}},
                    Finished{"no bootstrap", {.n_trees = 2, .max_features = 8, .bootstrap = false, .seed = 6}}));

TEST(EmulatedForestEdges, LooksPastConstantColumnsAsTheCpuDoes) {
  Data data{40, 90, 2, std::vector<float>(3600, 5.0F), {}};
  for (std::int32_t i = 0; i < 40; ++i) data.X[i * 90 + 61] = static_cast<float>(i % 7), data.y.push_back(i % 7 >= 3);
  const Case c{"", data, {.n_trees = 3, .max_features = 2, .seed = 2}};
  HostMemory memory;
  CudaRuntime runtime({.seed = 6});
  const Grown grown = run_emulated(runtime, c);
  EXPECT_EQ(grown.forest.feature[0], 61);
  expect_same(run_case(*make_cpu_trees(memory, 1), memory, c), grown);
}

// Nodes of more rows than a block parts at once.
TEST(EmulatedForestEdges, PartsLargeNodesPieceByPieceAsTheCpuDoes) {
  Case c{
      "", make_data(20000, 3, 300, 3, 0.2, 15), {.n_trees = 2, .max_features = 2, .max_depth = 3, .bootstrap = false}};
  HostMemory memory;
  CudaRuntime runtime({.seed = 6});
  const kedge::test::LaunchLog log(runtime);
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, c), run_emulated(runtime, c));
  EXPECT_TRUE(log.has("move_pieces"));
  for (std::int64_t i = 0; i < c.data.rows; ++i)
    c.values.push_back(c.data.X[i * 3] - 0.01 * static_cast<double>(i % 1000));   // also below 0
  c.options.criterion = Criterion::kSquaredError;
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, c), run_emulated(runtime, c));
}

// A kernel's counters fill what it gets of shared memory without asking at 47 and at 191 classes; what it declares
// comes on top.
struct ManyClasses {
  const char* gpu;
  std::int32_t classes;
  Splitter splitter = Splitter::kBest;
  friend void PrintTo(const ManyClasses& c, std::ostream* out) { *out << c.classes << " classes on " << c.gpu; }
};
class EmulatedForestOfManyClasses : public testing::TestWithParam<ManyClasses> {};

TEST_P(EmulatedForestOfManyClasses, IsTheForestOfTheCpu) {
  const auto [gpu, classes, splitter] = GetParam();
  Data data = make_data(210, 3, 60, classes, 0.0, 8);
  for (std::int32_t c = 0; c < classes; ++c) data.y[static_cast<std::size_t>(c)] = c;
  const Case c{"", data, {.n_trees = 1, .splitter = splitter, .max_features = 2, .max_depth = 3, .seed = 9}};
  HostMemory memory;
  CudaRuntime runtime({.seed = 7, .model = &emulated::gpu_model(gpu)});
  const kedge::test::LaunchLog log(runtime);
  const Grown emulated = run_emulated(runtime, c);
  EXPECT_TRUE(log.has("part_rows"));
  expect_same(run_case(*make_cpu_trees(memory, 2), memory, c), emulated);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedForestOfManyClasses,
                         testing::Values(ManyClasses{"T4", 47}, ManyClasses{"A100", 47}, ManyClasses{"L4", 47},
                                         ManyClasses{"L40S", 47}, ManyClasses{"H100", 47}, ManyClasses{"B200", 47},
                                         ManyClasses{"T4", 62}, ManyClasses{"H100", 191}, ManyClasses{"H100", 200},
                                         ManyClasses{"B200", 200}, ManyClasses{"T4", 191, Splitter::kRandom},
                                         ManyClasses{"H100", 191, Splitter::kRandom}));

TEST(EmulatedForestEdges, RefusesMoreClassesThanTheSharedMemoryHolds) {
  const Data data = make_data(210, 3, 60, 63, 0.0, 8);
  CudaRuntime runtime({.model = &emulated::gpu_model("T4")});
  try {
    run_emulated(runtime, {"", data, {.n_trees = 1, .max_features = 2}});
    FAIL() << "63 classes on a T4";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.message, "a forest for 63 classes on a GPU, at most 62 are possible");
  }
}

}  // namespace
}  // namespace kedge::engine::test
