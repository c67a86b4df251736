// The fiber emulator: kernels with barriers, shuffles and atomics give what a GPU gives, and misuse is an error.
#include "engine/backend/cuda/launch.cuh"

#include <gmock/gmock.h>

#include <csignal>
#include <iostream>
#include <numeric>
#include <vector>

#include "engine/backend/raw.h"
#include "engine/core/array.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::HasSubstr;

constexpr int kThreads = 256;

// Sum of each block's part of x: shuffles within warps, then shared memory between them.
__global__ void block_sums(const int* x, int n, int* sums) {
  __shared__ int partial[kThreads / 32];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int sum = i < n ? x[i] : 0;
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(kFullWarp, sum, delta);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(kFullWarp, sum, delta);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Reverses each block's part of x through dynamic shared memory; `synchronised` false plants a missing barrier.
__global__ void reverse(int* x, bool synchronised) {
  KEDGE_DYNAMIC_SHARED(int, part);
  int* const mine = x + blockIdx.x * blockDim.x;
  part[threadIdx.x] = mine[threadIdx.x];
  if (synchronised) __syncthreads();
  mine[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

__global__ void diverge(bool by_return) {
  if (threadIdx.x == 7) {
    if (by_return) return;
    __syncwarp();
  }
  __syncthreads();
}

__global__ void shuffle_from_absent_lane(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, static_cast<int>(threadIdx.x), 20);
}

__global__ void warp_votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  out[lane] = __ballot_sync(kFullWarp, lane % 3 == 0);
  out[32 + lane] = static_cast<unsigned>(__shfl_xor_sync(kFullWarp, static_cast<int>(lane), 1));
  out[64 + lane] = static_cast<unsigned>(__shfl_up_sync(kFullWarp, static_cast<int>(lane), 3, 8));
  out[96 + lane] = static_cast<unsigned>(__syncthreads_count(lane < 5));
}

__global__ void histogram(const int* x, int n, unsigned* counts, int bins) {
  KEDGE_DYNAMIC_SHARED(unsigned, local);
  for (int b = static_cast<int>(threadIdx.x); b < bins; b += static_cast<int>(blockDim.x)) local[b] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&local[x[i] % bins], 1u);
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < bins; b += static_cast<int>(blockDim.x)) atomicAdd(&counts[b], local[b]);
}

class EmulatorTest : public testing::Test {
 protected:
  CudaRuntime gpu{{.seed = 42}};
  std::string error_of(auto&& call) {
    try {
      call();
    } catch (const schema::Error& e) {
      return e.message;
    }
    return "no error";
  }
};

TEST_F(EmulatorTest, SumsBlocksThroughShufflesAndSharedMemory) {
  std::vector<int> host(1000);
  std::iota(host.begin(), host.end(), 1);
  Array<int> x(gpu, host), sums(gpu, 4);
  KEDGE_LAUNCH(gpu, block_sums, 4, kThreads, 0, x.data(), 1000, sums.data());
  std::vector<int> expected(4, 0);
  for (int i = 0; i < 1000; ++i) expected[static_cast<std::size_t>(i / kThreads)] += host[static_cast<std::size_t>(i)];
  EXPECT_EQ(sums.to_host(), expected);
}

TEST_F(EmulatorTest, CountsSharedHistogram) {
  std::vector<int> host(5000);
  for (int i = 0; i < 5000; ++i) host[static_cast<std::size_t>(i)] = i * 7;
  Array<int> x(gpu, host);
  Array<unsigned> counts(gpu, 13);
  counts.zero();
  KEDGE_LAUNCH(gpu, histogram, 3, 64, 13 * sizeof(unsigned), x.data(), 5000, counts.data(), 13);
  std::vector<unsigned> expected(13, 0);
  for (const int v : host) ++expected[static_cast<std::size_t>(v % 13)];
  EXPECT_EQ(counts.to_host(), expected);
}

TEST_F(EmulatorTest, GivesWarpVotesAndShufflesTheirCudaMeaning) {
  Array<unsigned> out(gpu, 128);
  KEDGE_LAUNCH(gpu, warp_votes, 1, 32, 0, out.data());
  const auto host = out.to_host();
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(host[lane], 0x49249249u);
    EXPECT_EQ(host[32 + lane], lane ^ 1u);
    EXPECT_EQ(host[64 + lane], lane % 8 >= 3 ? lane - 3 : lane);
    EXPECT_EQ(host[96 + lane], 5u);
  }
}

// The planted defect of the reverse kernel shows because threads run in random order between barriers.
TEST_F(EmulatorTest, MissingBarrierChangesTheResult) {
  std::vector<int> host(512);
  std::iota(host.begin(), host.end(), 0);
  std::vector<int> reversed(512);
  for (int i = 0; i < 512; ++i) reversed[static_cast<std::size_t>(i)] = i / 128 * 128 + 127 - i % 128;
  for (const bool synchronised : {true, false}) {
    Array<int> x(gpu, host);
    KEDGE_LAUNCH(gpu, reverse, 4, 128, 128 * sizeof(int), x.data(), synchronised);
    EXPECT_EQ(x.to_host() == reversed, synchronised);
  }
}

TEST_F(EmulatorTest, DivergentBarrierIsAnError) {
  const auto by_return = error_of([&] { KEDGE_LAUNCH(gpu, diverge, 1, 64, 0, true); });
  EXPECT_THAT(by_return, HasSubstr("kernel diverge, block (0, 0, 0): divergent barrier"));
  EXPECT_THAT(by_return, HasSubstr("thread 7 has ended"));
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, diverge, 1, 64, 0, false); }), HasSubstr("thread 7 waits at a warp operation"));
}

TEST_F(EmulatorTest, ShuffleFromALaneThatTakesNoPartIsAnError) {
  Array<int> out(gpu, 16);
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, shuffle_from_absent_lane, 1, 32, 0, out.data()); }),
              HasSubstr("shuffles from lane 20, which takes no part"));
}

TEST_F(EmulatorTest, ContinuesAfterAnError) {
  error_of([&] { KEDGE_LAUNCH(gpu, diverge, 1, 64, 0, true); });
  std::vector<int> host(256, 1);
  Array<int> x(gpu, host), sums(gpu, 1);
  KEDGE_LAUNCH(gpu, block_sums, 1, kThreads, 0, x.data(), 256, sums.data());
  EXPECT_EQ(sums.to_host(), std::vector<int>{256});
}

TEST_F(EmulatorTest, RefusesBlocksAndSharedMemoryThatNoGpuHas) {
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, diverge, 1, 2048, 0, true); }), HasSubstr("a block of 2048 threads, must be 1 to 1024"));
  EXPECT_THAT(error_of([&] { KEDGE_LAUNCH(gpu, diverge, 1, 32, 200 * 1024, true); }), HasSubstr("204800 bytes of shared memory"));
}

// A GPU's memory cannot be read from the host; the emulator's crashes too, except in ops.
TEST(Emulator, CrashesHostCodeThatReadsOrWritesDeviceMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer's build checks the bounds of blocks instead";
#else
  CudaRuntime runtime({});
  const Array<int> x(runtime, std::vector<int>{1, 2, 3});
  Array<int> y(runtime, 3);
  const auto touch = [](auto access) {
    std::signal(SIGSEGV, SIG_DFL);   // the thread sanitizer would report what is meant to be
    access();
  };
  EXPECT_EXIT(touch([&] { std::cerr << raw(x)[1]; }), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(touch([&] { *raw(y) = 1; }), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_THAT(x.to_host(), testing::ElementsAre(1, 2, 3));
#endif
}

TEST(Emulator, CountsHowOftenTheHostWaits) {
  CudaRuntime runtime({});
  const Array<int> x(runtime, std::vector<int>{1, 2, 3});
  const auto& memory = static_cast<emulated::Emulator*>(runtime.stream())->memory;
  EXPECT_EQ(memory.syncs, 0);
  x.to_host();
  runtime.synchronize();
  EXPECT_EQ(memory.syncs, 2);
}

TEST(Emulator, GivesMemoryOutAgain) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer's build leaves blocks to malloc";
#else
  CudaRuntime runtime({});
  std::vector<Array<char>> blocks;
  for (const std::int64_t size : {1, 5000, 0, 300}) blocks.emplace_back(runtime, size);
  const char* const first = raw(blocks[0]);
  blocks.erase(blocks.begin() + 1);
  blocks.clear();
  EXPECT_EQ(Array<char>(runtime, 5300).data(), first);   // neighbours have become one block
#endif
}

}  // namespace
}  // namespace kedge::engine
