// Races planted into small kernels are found by the emulator that looks at every access, and only those.
#include <gmock/gmock.h>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/raw.h"
#include "engine/core/array.h"
#include "schemas/error.h"

namespace kedge::parity {
namespace {

using engine::Array;
using engine::CudaRuntime;
using testing::HasSubstr;

constexpr int kThreads = 64;

__global__ void shift_in_block(int* x, bool synchronised) {
  __shared__ int part[kThreads];
  const unsigned i = threadIdx.x;
  part[i] = x[i];
  if (synchronised) __syncthreads();
  x[i] = part[(i + 1) % kThreads];
}

// Swaps neighbours within a warp. A shuffle has all lanes meet, but orders no memory.
__global__ void swap_in_warp(int* x, bool orders_memory) {
  KEDGE_DYNAMIC_SHARED(int, part);
  const unsigned i = threadIdx.x;
  part[i] = x[i];
  if (orders_memory) __syncwarp();
  else static_cast<void>(__shfl_xor_sync(engine::kFullWarp, 0, 1));
  x[i] = part[i ^ 1U];
}

__global__ void use_warp_barrier_across_warps(int* x) {
  KEDGE_DYNAMIC_SHARED(int, part);
  const unsigned i = threadIdx.x;
  part[i] = x[i];
  __syncwarp();
  x[i] = part[(i + 32) % kThreads];
}

__global__ void count(int* total, bool atomically) {
  if (threadIdx.x != 0) return;
  if (atomically) atomicAdd(total, 1);
  else *total += 1;
}

__global__ void write_what_others_read(int* x, int* out) {
  if (blockIdx.x == 2 && threadIdx.x == 5) x[0] = 1;
  else out[blockIdx.x * blockDim.x + threadIdx.x] = x[0];
}

__global__ void use_again(int* x, bool synchronised) {   // the next round writes what another thread may still read
  __shared__ int turn;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) turn = round;
    __syncthreads();
    x[threadIdx.x] += turn;
    if (synchronised) __syncthreads();
  }
}

std::string race_in(auto&& launch) {
  CudaRuntime gpu({.seed = 3});
  Array<int> x(gpu, std::vector<int>(kThreads, 1)), out(gpu, 4 * kThreads);
  try {
    launch(gpu, raw(x), raw(out));
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "none";
}

TEST(PlantedRace, AMissingBarrierIsFoundWhateverTheOrder) {
  EXPECT_EQ(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, shift_in_block, 1, kThreads, 0, x, true); }),
            "none");
  EXPECT_THAT(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, shift_in_block, 1, kThreads, 0, x, false); }),
              HasSubstr("kernel shift_in_block: a race in shared memory: thread"));
}

TEST(PlantedRace, WarpsAreOrderedByTheirBarrierAndNotByShuffles) {
  const std::size_t bytes = kThreads * sizeof(int);
  EXPECT_EQ(race_in([&](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, swap_in_warp, 1, kThreads, bytes, x, true); }),
            "none");
  EXPECT_THAT(race_in([&](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, swap_in_warp, 1, kThreads, bytes, x, false); }),
              HasSubstr("a race in shared memory"));
  EXPECT_THAT(race_in([&](auto& gpu, int* x, int*) {
                KEDGE_LAUNCH(gpu, use_warp_barrier_across_warps, 1, kThreads, bytes, x);
              }),
              HasSubstr("a race in shared memory"));
}

TEST(PlantedRace, BlocksOfALaunchAreOrderedByNothingButAtomics) {
  EXPECT_EQ(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, count, 4, 32, 0, x, true); }), "none");
  EXPECT_THAT(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, count, 4, 32, 0, x, false); }),
              HasSubstr("a race in device memory: thread 0 of block 0"));
  EXPECT_EQ(race_in([](auto& gpu, int* x, int*) {   // one launch is before the next
              for (int i = 0; i < 3; ++i) KEDGE_LAUNCH(gpu, count, 1, 32, 0, x, false);
            }),
            "none");
}

TEST(PlantedRace, AWriteBesideManyReadsIsFound) {
  EXPECT_THAT(
      race_in([](auto& gpu, int* x, int* out) { KEDGE_LAUNCH(gpu, write_what_others_read, 4, kThreads, 0, x, out); }),
      HasSubstr("a race in device memory"));
}

TEST(PlantedRace, SharedMemoryThatIsUsedAgainTooEarlyIsFound) {
  EXPECT_EQ(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, use_again, 1, kThreads, 0, x, true); }), "none");
  EXPECT_THAT(race_in([](auto& gpu, int* x, int*) { KEDGE_LAUNCH(gpu, use_again, 1, kThreads, 0, x, false); }),
              HasSubstr("a race in shared memory"));
}

}   // namespace
}   // namespace kedge::parity
