// Uploads are right although copies end late, the ring waits before it fills a buffer again, and a second try follows a
// failed allocation.
#include "engine/backend/cuda/upload_ring.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/backend/cuda/gpu_code.h"
#include "engine/backend/cuda/retry.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// Copies on an emulated GPU. `awaits` false plants a ring that does not wait for its buffers.
class Copies final : public AsyncCopies {
 public:
  explicit Copies(CudaRuntime& gpu, bool awaits = true, int pinned_buffers = 100)
      : memory_(static_cast<emulated::Emulator*>(gpu.stream())->memory), awaits_(awaits), left_(pinned_buffers) {}
  void* allocate_pinned(std::size_t bytes) override { return left_-- > 0 ? std::malloc(bytes) : nullptr; }
  void free_pinned(void* p) noexcept override { std::free(p); }
  void start(void* device, const void* pinned, std::size_t bytes) override {
    memory_.copy_late(device, const_cast<void*>(pinned), bytes);
  }
  void mark(std::size_t) override { ++marks; }
  void await(std::size_t) override {
    ++waits;
    if (awaits_) const emulated::DeviceAccess access(memory_);
  }
  void copy_now(void* device, const void* host, std::size_t bytes) override {
    const emulated::DeviceAccess access(memory_);
    std::memcpy(device, host, bytes);
    ++direct;
  }
  int marks = 0, waits = 0, direct = 0;

 private:
  emulated::DeviceMemory& memory_;
  bool awaits_;
  int left_;
};

std::vector<int> counted(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

constexpr UploadRing::Size kSmall{.buffers = 3, .bytes = 1024};

// What arrives of 5000 numbers that are sent in one piece, and of 40 that are sent in pieces of 5.
std::pair<std::vector<int>, std::vector<int>> sent(CudaRuntime& gpu, Copies& copies) {
  UploadRing ring(copies, kSmall);
  Array<int> large(gpu, 5000), small(gpu, 40);
  ring.upload(large.data(), counted(5000).data(), 5000 * sizeof(int));
  for (int i = 0; i < 40; i += 5) {
    std::vector<int> piece{i, i + 1, i + 2, i + 3, i + 4};
    ring.upload(small.data() + i, piece.data(), 5 * sizeof(int));
    piece.assign(5, -1);   // the caller's memory is free at once
  }
  return {large.to_host(), small.to_host()};
}

TEST(UploadRing, DeliversWhatItWasGivenThoughCopiesEndLate) {
  CudaRuntime gpu({});
  Copies copies(gpu);
  const auto [large, small] = sent(gpu, copies);
  EXPECT_EQ(large, counted(5000));
  EXPECT_EQ(small, counted(40));
  EXPECT_GT(copies.waits, 0);
  EXPECT_EQ(copies.direct, 0);
}

TEST(UploadRing, ThatDoesNotWaitForItsBuffersIsFoundByLateCopies) {
  CudaRuntime gpu({});
  Copies copies(gpu, false);
  EXPECT_NE(sent(gpu, copies).first, counted(5000));
}

TEST(UploadRing, WaitsForEachCopyWhereNoPinnedMemoryCanBeHad) {
  CudaRuntime gpu({});
  Copies copies(gpu, true, 0);
  const auto [large, small] = sent(gpu, copies);
  EXPECT_EQ(large, counted(5000));
  EXPECT_EQ(small, counted(40));
  EXPECT_EQ(copies.direct, 9);
}

TEST(UploadRing, LetsTheCallerWriteIntoItsBuffers) {
  CudaRuntime gpu({});
  for (const int pinned_buffers : {100, 0}) {
    Copies copies(gpu, true, pinned_buffers);
    UploadRing ring(copies, kSmall);
    Array<int> numbers(gpu, 2000);
    for (int first = 0; first < 2000; first += 200) {
      const auto write = [&](std::byte* to) { std::memcpy(to, counted(2000).data() + first, 200 * sizeof(int)); };
      ring.upload(numbers.data() + first, 200 * sizeof(int), write);
    }
    EXPECT_EQ(numbers.to_host(), counted(2000));
    EXPECT_EQ(copies.direct, pinned_buffers ? 0 : 10);
  }
}

TEST(Emulator, ACopyFromMemoryThatChangesGivesWhatItHasLater) {
  CudaRuntime gpu({});
  Array<int> x(gpu, 3);
  std::vector<int> host{1, 2, 3};
  Copies(gpu).start(x.data(), host.data(), sizeof(int) * 3);
  host[1] = 9;
  EXPECT_THAT(x.to_host(), ElementsAre(1, 9, 3));
  EXPECT_THAT(host, Each(-1));   // rubbish, so that a late reader of the host copy fails here
}

TEST(Emulator, TakesTheHostsBytesBeforeAnUploadReturns) {
  CudaRuntime gpu({});
  Array<int> x(gpu, 3);
  std::vector<int> host{1, 2, 3};
  gpu.to_device(x.data(), host.data(), sizeof(int) * 3);
  host.assign(3, 9);
  EXPECT_THAT(x.to_host(), ElementsAre(1, 2, 3));
}

TEST(Emulator, MemoryThatNothingHasWrittenOrThatWasGivenBackIsNotANumber) {
  CudaRuntime gpu({});
  const auto first_of = [&](const float* p) {
    std::vector<float> host(1);
    gpu.to_host(host.data(), p, sizeof(float));
    return host[0];
  };
  const Array<float> fresh(gpu, 1000);
  EXPECT_THAT(fresh.to_host(), Each(testing::IsNan()));
#if !defined(__SANITIZE_ADDRESS__)   // which reports the read itself
  const float* stale = nullptr;
  {
    const Array<float> freed(gpu, std::vector<float>{1, 2, 3});
    stale = raw(freed);
    EXPECT_EQ(first_of(stale), 1);
  }
  EXPECT_THAT(first_of(stale), testing::IsNan());
  EXPECT_THAT(Array<float>(gpu, 3).to_host(), Each(testing::IsNan()));   // the same place again
#endif
}

TEST(AllocateOrTrim, TriesOnceMoreAfterATrim) {
  for (const int failures : {0, 1, 2}) {
    int left = failures, tries = 0, trims = 0, memory = 0;
    void* const p =
        allocate_or_trim([&]() -> void* { return ++tries, left-- > 0 ? nullptr : &memory; }, [&] { ++trims; });
    EXPECT_EQ(p, failures < 2 ? &memory : nullptr);
    EXPECT_EQ(tries, failures == 0 ? 1 : 2);
    EXPECT_EQ(trims, failures == 0 ? 0 : 1);
  }
}

TEST(GpuCode, IsFoundForWhatTheBuildHasAndSaysWhatItHas) {
  constexpr std::string_view kRelease = "75-real;80-real;90-real;100-real;120";
  const auto runs = [&](int major, int minor) { return missing_code(kRelease, major, minor).empty(); };
  for (const auto& [major, minor] :
       {std::pair{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}, {13, 0}})
    EXPECT_TRUE(runs(major, minor)) << major << "." << minor;
  for (const auto& [major, minor] : {std::pair{6, 0}, {7, 0}, {7, 2}, {11, 0}})
    EXPECT_FALSE(runs(major, minor)) << major << "." << minor;
  EXPECT_EQ(missing_code("80-real;90", 7, 0),
            "its compute capability is 7.0, and this build has code for 8.0, 9.0 and newer");
  EXPECT_EQ(missing_code("90a-real", 8, 0), "its compute capability is 8.0, and this build has code for 9.0");
  EXPECT_THAT(missing_code("native", 7, 0), IsEmpty());
  EXPECT_THAT(missing_code("", 7, 0), IsEmpty());
}

}   // namespace
}   // namespace kedge::engine
