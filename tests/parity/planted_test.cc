// Defects planted into small kernels are found: reads out of bounds by the address sanitizer, a missing barrier by its result.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/backend/cuda/launch.cuh"
#include "engine/core/array.h"

namespace kedge::parity {
namespace {

using engine::Array;
using engine::CudaRuntime;

__global__ void copy_neighbour(const float* x, float* out, int n, int reach) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = x[i + reach];
}

__global__ void overrun_shared(float* out) {
  KEDGE_DYNAMIC_SHARED(float, values);
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x + 1];
}

// Sums 256 values by halves; without the barrier some are added before they are there.
__global__ void sum_by_halves(const float* x, float* sum, bool synchronised) {
  __shared__ float part[256];
  const int i = static_cast<int>(threadIdx.x);
  part[i] = x[i];
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (i < width) part[i] += part[i + width];
    if (synchronised) __syncthreads();
  }
  if (i == 0) *sum = part[0];
}

// Counts in shared memory that the kernel does not set to 0; some GPUs start with 0 there.
__global__ void count_from_nothing(unsigned* out, bool set) {
  __shared__ unsigned count;
  if (set && threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1u);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}

float sum_with(std::uint64_t seed, bool synchronised) {
  CudaRuntime gpu({.seed = seed});
  std::vector<float> host(256);
  std::iota(host.begin(), host.end(), 1.0f);
  Array<float> x(gpu, host), sum(gpu, 1);
  KEDGE_LAUNCH(gpu, sum_by_halves, 1, 256, 0, x.data(), sum.data(), synchronised);
  return sum.to_host()[0];
}

void read_beyond_device_memory() {
  CudaRuntime gpu({});
  Array<float> x(gpu, 100), out(gpu, 100);
  KEDGE_LAUNCH(gpu, copy_neighbour, 1, 128, 0, x.data(), out.data(), 100, 1);
}

void read_beyond_shared_memory() {
  CudaRuntime gpu({});
  Array<float> out(gpu, 64);
  KEDGE_LAUNCH(gpu, overrun_shared, 1, 64, 64 * sizeof(float), out.data());
}

TEST(PlantedDefect, ReadBeyondDeviceMemoryIsReportedWithTheKernel) {
  EXPECT_DEATH(read_beyond_device_memory(), "heap-buffer-overflow(.|\n)*copy_neighbour");
}

TEST(PlantedDefect, ReadBeyondSharedMemoryIsReportedWithTheKernel) {
  EXPECT_DEATH(read_beyond_shared_memory(), "heap-buffer-overflow(.|\n)*overrun_shared");
}

TEST(PlantedDefect, KernelWithoutDefectRuns) {   // or the two above would prove nothing
  CudaRuntime gpu({});
  Array<float> x(gpu, std::vector<float>(100, 3)), out(gpu, 100);
  KEDGE_LAUNCH(gpu, copy_neighbour, 1, 128, 0, x.data(), out.data(), 100, 0);
  EXPECT_EQ(out.to_host(), std::vector<float>(100, 3));
}

TEST(PlantedDefect, MissingBarrierShowsUnderEverySeed) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(sum_with(seed, true), 256.0f * 257 / 2) << seed;
    EXPECT_NE(sum_with(seed, false), 256.0f * 257 / 2) << seed;
  }
}

TEST(PlantedDefect, SharedMemoryThatIsNotSetHoldsRubbishInEveryBlock) {
  for (const bool set : {true, false}) {
    CudaRuntime gpu({});
    Array<unsigned> out(gpu, 3);
    KEDGE_LAUNCH(gpu, count_from_nothing, 3, 32, 0, out.data(), set);
    for (const unsigned count : out.to_host()) EXPECT_EQ(count == 32, set);
  }
}

}  // namespace
}  // namespace kedge::parity
