// Finding devices: the CPU is always there, what is missing has a reason, and a plug-in's errors arrive as the project's.
#include "engine/backend/loader.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <omp.h>

#include "engine/backend/cpu/linear/blas_core.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Loader, ListsTheCpuWithItsThreads) {
  const auto list = list_devices();
  ASSERT_FALSE(list.devices.empty());
  EXPECT_EQ(list.devices[0].id, "cpu");
  EXPECT_EQ(list.devices[0].threads, omp_get_max_threads());
  EXPECT_GT(list.devices[0].memoryBytes, 0);
  EXPECT_THAT(list.devices[0].name, Not(IsEmpty()));
  EXPECT_THAT(list.devices[0].missing, IsEmpty());
}

TEST(Loader, SaysWhyCudaIsMissingOrNamesTheDevice) {
  const auto list = list_devices();
  ASSERT_GE(list.devices.size(), 2u);
  const auto& cuda = list.devices[1];
  EXPECT_THAT(cuda.id == "cuda" ? cuda.missing : cuda.name, Not(IsEmpty()));
}

TEST(Loader, OpeningAMissingCudaDeviceGivesTheSameReason) {
  const auto list = list_devices();
  ASSERT_GE(list.devices.size(), 2u);
  if (list.devices[1].id != "cuda") GTEST_SKIP() << "a CUDA device answers here";
  try {
    open_device("cuda");
    FAIL() << "opened a device that list_devices() calls missing";
  } catch (const schema::Error& e) {
    EXPECT_EQ(e.code, schema::ErrorCode::kDeviceUnavailable);
    EXPECT_THAT(e.message, HasSubstr(list.devices[1].missing));
  }
}

TEST(Loader, RefusesUnknownNames) {
  for (const char* id : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cpu:0"}) {
    try {
      open_device(id);
      ADD_FAILURE() << id << " was opened";
    } catch (const schema::Error& e) {
      EXPECT_EQ(e.code, schema::ErrorCode::kDeviceUnavailable);
      EXPECT_THAT(e.message, HasSubstr("must be \"cpu\", \"cuda\" or \"cuda:N\""));
    }
  }
}

TEST(Loader, ErrorsThrownByAPluginAreCaughtByTheirType) {
  void* const library = dlopen(KEDGE_THROWING_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const make = reinterpret_cast<Memory* (*)()>(dlsym(library, "make_full_memory"));
  ASSERT_NE(make, nullptr);
  const std::unique_ptr<Memory> memory(make());
  try {
    Array<float> x(*memory, 3);
    FAIL() << "no error";
  } catch (const schema::Error& e) {
    EXPECT_EQ(e.code, schema::ErrorCode::kOutOfMemory);
    EXPECT_EQ(e.message, "the plug-in's memory is full");
  }
}

TEST(CpuMemory, RefusesAnArrayThatTheMachineCannotHoldInAddition) {
  constexpr std::int64_t kHeldByOthers = std::int64_t{64} << 20;   // less than any kernel and this test hold
  const auto device = open_device("cpu");
  try {
    device->memory().deallocate(device->memory().allocate(static_cast<std::size_t>(device->info().memory_bytes - kHeldByOthers)));
    FAIL() << "all of the memory was granted";
  } catch (const schema::Error& e) {
    EXPECT_EQ(e.code, schema::ErrorCode::kOutOfMemory);
    EXPECT_THAT(e.message, HasSubstr("MiB of memory are available"));
  }
}

TEST(BlasCore, OverridesOnlyWhatOpenBlasMisreads) {
  EXPECT_EQ(better_core("Prescott", true, true), "SkylakeX");
  EXPECT_EQ(better_core("Barcelona", false, true), "Haswell");
  EXPECT_EQ(better_core("Prescott", false, false), "");      // really an old one
  for (const char* known : {"Haswell", "Zen", "SkylakeX", "Cooperlake"}) EXPECT_EQ(better_core(known, true, true), "") << known;
}

TEST(BlasCore, IsAtLeastAvx2WhereTheProcessorIs) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "no AVX2 here";
  EXPECT_EQ(better_core(blas_core(), true, true), "");
}

}  // namespace
}  // namespace kedge::engine
