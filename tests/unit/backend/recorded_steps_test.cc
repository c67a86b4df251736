// Recorded steps on the emulated GPU: they run with the arguments of their recording and the memory of now, and what a
// CUDA stream cannot capture is refused.
#include "engine/backend/recorded_steps.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/loader.h"
#include "engine/core/array.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

__global__ void add_number(float* x, int n, float number) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += number;
}

// Adds what lies at `number` in device memory.
__global__ void add_from(const float* number, float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += *number;
}

// x += 1, through scratch that must be written first.
__global__ void put_ones(float* scratch, bool writes) {
  if (writes) scratch[threadIdx.x] = 1;
}

class RecordedStepsTest : public testing::Test {
 protected:
  std::string refusal(const std::function<void()>& ops) {
    try {
      runtime().record(ops);
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kInternal);
      return error.message;
    }
    return "none";
  }
  CudaRuntime& runtime() { return static_cast<CudaRuntime&>(device_->memory()); }
  std::vector<float> values() const { return x_.to_host(); }

  std::unique_ptr<Device> device_ = make_cuda_device({.seed = 3});
  Array<float> x_{device_->memory(), std::vector<float>{1, 2, 3}};
};

TEST_F(RecordedStepsTest, AreNotDoneWhileTheyAreRecorded) {
  const auto steps =
      step_recorder(*device_)->record([&] { KEDGE_LAUNCH(runtime(), add_number, 1, 32, 0, x_.data(), 3, 1.0f); });
  ASSERT_TRUE(steps);
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
  steps->run();
  steps->run();
  EXPECT_THAT(values(), ElementsAre(3, 4, 5));
}

TEST_F(RecordedStepsTest, RunWithTheHostsNumbersOfThenAndTheDevicesOfNow) {
  float number = 10;
  Array<float> own(runtime(), std::vector<float>{100});
  const auto steps = runtime().record([&] {
    KEDGE_LAUNCH(runtime(), add_number, 1, 32, 0, x_.data(), 3, number);
    KEDGE_LAUNCH(runtime(), add_from, 1, 32, 0, own.data(), x_.data(), 3);
  });
  number = 77;
  const float later = 200;
  runtime().to_device(own.data(), &later, sizeof later);
  steps->run();
  EXPECT_THAT(values(), ElementsAre(211, 212, 213));
}

TEST_F(RecordedStepsTest, KeepCopiesFillsAndProducts) {
  Matrix<float> a(runtime(), 1, 1, std::vector<float>{2}), b(runtime(), 1, 3, std::vector<float>{1, 2, 3}),
      c(runtime(), 1, 3);
  const auto steps = runtime().record([&] {
    runtime().copy(b.data(), x_.data(), 2 * sizeof(float));
    runtime().zero(x_.data(), sizeof(float));
    device_->f32().linear->gemm(Transpose::kNo, Transpose::kNo, 1, std::as_const(a).view(), std::as_const(b).view(), 0,
                                c.view());
  });
  const std::vector<float> others{7, 8, 9};
  runtime().to_device(x_.data(), others.data(), 3 * sizeof(float));
  steps->run();
  EXPECT_THAT(c.to_host(), ElementsAre(14, 16, 6));
  EXPECT_THAT(values(), ElementsAre(0, 8, 9));
}

TEST_F(RecordedStepsTest, HaveScratchOfTheirOwnThatHoldsRubbishAtEachRun) {
  for (const bool writes : {true, false}) {
    const auto steps = runtime().record([&] {
      Array<float> scratch(runtime(), 32);
      KEDGE_LAUNCH(runtime(), put_ones, 1, 32, 0, scratch.data(), writes);
      KEDGE_LAUNCH(runtime(), add_from, 1, 32, 0, scratch.data(), x_.data(), 3);
    });
    steps->run();
    steps->run();
    if (writes) EXPECT_THAT(values(), ElementsAre(3, 4, 5));
    else EXPECT_NE(values()[0], values()[0]) << "NaN: nothing was left from a run before";
  }
}

TEST_F(RecordedStepsTest, GiveTheirMemoryBack) {
  const auto& memory = static_cast<emulated::Emulator*>(runtime().stream())->memory;
  const std::size_t before = memory.live_bytes();
  auto steps = runtime().record([&] { const Array<float> scratch(runtime(), 1000); });
  steps.reset();
  EXPECT_EQ(memory.live_bytes(), before);
}

TEST_F(RecordedStepsTest, RefuseWhatAStreamCannotCapture) {
  float host = 0;
  EXPECT_THAT(refusal([&] { runtime().synchronize(); }), HasSubstr("cannot have a wait"));
  EXPECT_THAT(refusal([&] { x_.to_host(); }), HasSubstr("cannot have a copy to the host"));
  EXPECT_THAT(refusal([&] { runtime().to_device(x_.data(), &host, sizeof host); }), HasSubstr("cannot have an upload"));
  EXPECT_THAT(refusal([&] { runtime().upload(x_.data(), 4, [](std::byte*) {}); }), HasSubstr("cannot have an upload"));
  EXPECT_THAT(refusal([&] { runtime().record([] {}); }), HasSubstr("cannot have another recording"));
  Matrix<float> a(runtime(), 1, 1, std::vector<float>{2});
  EXPECT_THAT(refusal([&] { device_->f32().factorise->solve_positive(a.view(), a.view()); }),
              HasSubstr("cannot have potrf"));
  KEDGE_LAUNCH(runtime(), add_number, 1, 32, 0, x_.data(), 3, 1.0f);
  EXPECT_THAT(values(), ElementsAre(2, 3, 4)) << "after a refusal the device works as before";
}

TEST_F(RecordedStepsTest, RefuseMemoryThatIsNotGivenBackWithin) {
  Array<float> kept, other(runtime(), 3);
  EXPECT_THAT(refusal([&] { kept = Array<float>(runtime(), 3); }), HasSubstr("must give back all"));
  EXPECT_THAT(refusal([&] { other = Array<float>(); }), HasSubstr("memory that it did not allocate"));
}

TEST_F(RecordedStepsTest, RefuseALaunchThatTheGpuRefuses) {
  EXPECT_THAT(refusal([&] { KEDGE_LAUNCH(runtime(), add_number, 1, 2048, 0, x_.data(), 3, 1.0f); }),
              HasSubstr("add_number"));
}

TEST_F(RecordedStepsTest, EndWithTheErrorOfTheOps) {
  try {
    runtime().record([] { throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled"); });
    FAIL() << "the error was lost";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kCancelled);
  }
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
}

TEST(StepRecorder, IsOfGpusAlone) {
  const auto gpu = make_cuda_device({}), cpu = open_device("cpu");
  EXPECT_TRUE(step_recorder(*gpu));
  EXPECT_FALSE(step_recorder(*cpu));
}

}   // namespace
}   // namespace kedge::engine
