// The emulated GPU refuses what hardware refuses, by model, and the backend keeps within the limits of the smallest
// one.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/emulated/register_table.h"
#include "engine/backend/loader.h"
#include "engine/core/array.h"
#include "engine/core/rng.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using emulated::gpu_model;
using emulated::GpuModel;
using testing::HasSubstr;

__global__ void declare_shared(int* out) {
  __shared__ int declared[8];
  KEDGE_DYNAMIC_SHARED(int, asked);
  if (threadIdx.x < 8) declared[threadIdx.x] = asked[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = declared[7] + asked[7];
}

__global__ void mark_tile(std::uint8_t* seen, std::int64_t columns, std::int64_t rows) {
  const std::int64_t y = block_y();
  if (y < rows) seen[y * columns + blockIdx.x] += 1;
}

// Has the name of the kernel whose registers the table knows.
template <class T>
__global__ void best_centers(T*) {}

std::string error_of(auto&& call) {
  try {
    call();
  } catch (const schema::Error& e) {
    return e.message;
  }
  return "no error";
}

std::string launch_unasked(CudaRuntime& gpu, std::size_t shared_bytes) {
  auto& emulator = *static_cast<emulated::Emulator*>(gpu.stream());
  return error_of([&] {
    emulator.launch({"declare_shared", reinterpret_cast<const void*>(&declare_shared), 1, 32, shared_bytes}, [] {});
  });
}

TEST(EmulatedLimits, SharedMemoryThatAKernelDeclaresCountsBesideWhatItIsGiven) {
  CudaRuntime gpu({});
  EXPECT_EQ(launch_unasked(gpu, kPlainSharedBytes - 32), "no error");
  EXPECT_THAT(launch_unasked(gpu, kPlainSharedBytes),
              HasSubstr("49152 bytes of shared memory and 32 that it declares, 49152 are given"));
}

TEST(EmulatedLimits, LaunchesAskForSharedMemoryWithWhatTheKernelDeclares) {
  for (const GpuModel& model : emulated::gpu_models()) {
    CudaRuntime gpu({.model = &model});
    Array<int> out(gpu, 1);
    for (const std::size_t bytes : {kPlainSharedBytes - 32, kPlainSharedBytes, gpu.max_shared_bytes() - 32}) {
      KEDGE_LAUNCH(gpu, declare_shared, 1, 32, bytes, out.data());
      EXPECT_EQ(out.to_host()[0], 2) << model.name;
    }
    EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, declare_shared, 1, 32, gpu.max_shared_bytes() - 16, out.data()); }),
                HasSubstr("and 32 that it declares, " + std::string(model.name) + " has"));
  }
}

TEST(EmulatedLimits, RefusesGridsThatNoGpuTakes) {
  CudaRuntime gpu({});
  Array<std::uint8_t> seen(gpu, 1);
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, mark_tile, dim3(1, 65536), 1, 0, seen.data(), 1, 0); }),
              HasSubstr("a grid of 1 x 65536 x 1 blocks, emulated GPU takes 2147483647 x 65535 x 65535"));
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, mark_tile, 1, dim3(1, 1, 65), 0, seen.data(), 1, 0); }),
              HasSubstr("65 threads deep, at most 64"));
}

TEST(EmulatedLimits, TallGridsHaveEachBlockOnceAndStayWithinTheLimits) {
  for (const unsigned rows : {1U, 65535U, 65536U, 200003U}) {
    CudaRuntime gpu({});
    const dim3 grid = tall_grid(gpu, 2, rows);
    EXPECT_LE(grid.y, 65535U);
    Array<std::uint8_t> seen(gpu, std::int64_t{2} * rows);
    seen.zero();
    KEDGE_LAUNCH(gpu, mark_tile, grid, 1, 0, seen.data(), 2, rows);
    EXPECT_THAT(seen.to_host(), testing::Each(1)) << rows;
  }
}

TEST(EmulatedLimits, RefusesABlockWhoseRegistersAreMoreThanThereAre) {
  const int registers = emulated::registers_of_a_thread("best_centers<float>", 90);
  ASSERT_GT(registers, 64) << "register_table.inc lacks the kernel, or it has become small: take another one";
  CudaRuntime gpu({.model = &gpu_model("H100")});
  float* const nothing = nullptr;
  KEDGE_LAUNCH(gpu, best_centers<float>, 1, 256, 0, nothing);
  EXPECT_THAT(
      error_of([&] { KEDGE_LAUNCH(gpu, best_centers<float>, 1, 1024, 0, nothing); }),
      HasSubstr("a block of 1024 threads of " + std::to_string(registers) + " registers on H100, which has 65536"));
}

TEST(EmulatedLimits, KernelsAreNamedWithoutTheirNamespaces) {
  EXPECT_EQ(
      emulated::short_kernel_name(
          "void kedge::engine::(anonymous namespace)::f<kedge::engine::K, (kedge::engine::M)2>(int, kedge::engine::V<float>)"),
      "f<K, (M)2>");
  EXPECT_EQ(emulated::short_kernel_name("kedge::engine::put(double const*)"), "put");
}

// --- What the ops do within those limits ---

std::vector<double> numbers(std::int64_t n, std::uint64_t stream) {
  std::vector<double> values(static_cast<std::size_t>(n));
  PhiloxStream random(3, stream);
  for (double& v : values) v = static_cast<double>(random.below(1000)) / 8;
  return values;
}

TEST(EmulatedLimits, ManyNeighboursOfDoublesFitIntoTheSharedMemoryOfATuring) {
  constexpr std::int64_t kPoints = 1024, kQueries = 3, kCols = 2;
  constexpr int kNeighbours = 1000;
  const auto found = [&](Device& device) {
    const Matrix<double> points(device.memory(), kPoints, kCols, numbers(kPoints * kCols, 1)),
        queries(device.memory(), kQueries, kCols, numbers(kQueries * kCols, 2));
    Matrix<std::int32_t> indices(device.memory(), kQueries, kNeighbours);
    Matrix<double> squared(device.memory(), kQueries, kNeighbours);
    device.f64().neighbours->nearest(queries.view(), points.view(), kNeighbours, indices.view(), squared.view());
    return indices.to_host();
  };
  EXPECT_EQ(found(*make_cuda_device({.model = &gpu_model("T4")})), found(*open_device("cpu")));
}

// A GPU whose grids are five blocks high: what is wide for it is small enough for a test.
constexpr GpuModel kFlat{
    .name = "flat", .capability = 80, .multiprocessors = 4, .max_shared_bytes = 99 * 1024, .max_grid_rows = 5};

// The results of the ops whose grids grow with the columns, or with the square of the rows.
template <class T>
std::vector<std::vector<double>> wide_results(Device& device) {
  constexpr std::int64_t kRows = 40, kCols = 64 * 6 + 5, kClasses = 3;
  Memory& memory = device.memory();
  Backend<T>& ops = device.ops<T>();
  const std::vector<double> values = numbers(kRows * kCols, 4);
  const Matrix<T> X(memory, kRows, kCols, std::vector<T>(values.begin(), values.end()));
  std::vector<std::int32_t> classes;
  for (std::int32_t i = 0; i < kRows; ++i) classes.push_back(i % kClasses);
  const Array<std::int32_t> y(memory, classes);
  std::vector<std::vector<double>> results;
  const auto keep = [&](const auto& array) {
    const auto host = array.to_host();
    results.emplace_back(host.begin(), host.end());
  };
  Array<double> mean(memory, kCols), variance(memory, kCols), count(memory, kCols), sums(memory, kCols);
  ops.tables->column_moments(X.view(), {}, {}, mean.view(), variance.view());
  keep(mean), keep(variance);
  ops.columns->present_moments(X.view(), {}, {}, count.view(), mean.view(), variance.view());
  keep(count), keep(mean), keep(variance);
  ops.rows->column_sums(X.view(), sums.view());
  keep(sums);
  Array<T> low(memory, kCols), high(memory, kCols);
  ops.tables->column_range(X.view(), {}, low.view(), high.view());
  keep(low), keep(high);
  Matrix<T> sorted(memory, kCols, kRows);
  Array<std::int64_t> present(memory, kCols);
  ops.columns->sort_columns(X.view(), {}, sorted.view(), present.view());
  keep(sorted), keep(present);
  Matrix<double> means(memory, kClasses, kCols), variances(memory, kClasses, kCols),
      by_label(memory, kClasses, kCols + 1);
  Array<double> counts(memory, kClasses);
  ops.bayes->class_moments(X.view(), {}, y.view(), {}, counts.view(), means.view(), variances.view());
  keep(means), keep(variances);
  ops.clusters->label_sums(X.view(), y.view(), {}, by_label.view());
  keep(by_label);
  Array<double> squares(memory, kCols);
  ops.design->products({.X = X.view()}, {}, {}, squares.view());
  keep(squares);
  const Matrix<T> points(memory, 900, 12, std::vector<T>(values.begin(), values.begin() + 900 * 12));
  Array<std::uint8_t> core(memory, 900);
  Array<std::int32_t> component(memory, 900);
  ops.distances->index_points(points.view(), {})->density_components(15000, 4, {}, core.view(), component.view());
  keep(core), keep(component);
  return results;
}

TEST(EmulatedLimits, WideTablesAndManyRowsGiveTheSameWhereGridsMustBeFolded) {
  const auto flat = make_cuda_device({.model = &kFlat}), usual = make_cuda_device({});
  EXPECT_EQ(wide_results<float>(*flat), wide_results<float>(*usual));
  EXPECT_EQ(wide_results<double>(*flat), wide_results<double>(*usual));
}

TEST(EmulatedLimits, ANormThatIsNotANumberLeavesTheLanesOfAWarpTogether) {
  constexpr std::int64_t kCenters = 40, kCols = 3;
  for (const std::int64_t bad : {0, 1, 33}) {
    std::vector<float> centers(kCenters * kCols, 5);
    for (std::int64_t c = 0; c < kCenters; ++c) centers[static_cast<std::size_t>(c * kCols)] = static_cast<float>(c);
    centers[static_cast<std::size_t>(bad * kCols)] = std::numeric_limits<float>::quiet_NaN();
    const auto device = make_cuda_device({});
    const Matrix<float> X(device->memory(), 1, kCols, std::vector<float>{7, 5, 5}),
        C(device->memory(), kCenters, kCols, centers);
    Array<std::int32_t> labels(device->memory(), std::vector<std::int32_t>{-1});
    device->f32().clusters->assign_nearest(X.view(), C.view(), labels.view());
    EXPECT_EQ(labels.to_host()[0], 7) << bad;
  }
}

}   // namespace
}   // namespace kedge::engine
