// Runs a CUDA kernel on the CPU: each thread of a block is a fiber that yields at barriers. One block at a time; blocks,
// and between two barriers the threads of a block, run in a random order, so that a missing barrier changes the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "engine/backend/emulated/device_memory.h"
#include "engine/backend/emulated/kernel_symbols.h"
#include "engine/backend/emulated/launch_check.h"

namespace kedge::engine::emulated {

// What a fiber waits for. Lanes meet when they name the same place, kind and mask.
struct Meeting {
  enum class Kind { kBlock, kWarpSync, kShuffle, kBallot };
  Kind kind = Kind::kBlock;
  const char* file = nullptr;
  int line = 0;
  unsigned mask = 0;
  int source = 0;             // shuffle: the lane read from
  std::uint64_t value = 0;    // brought along: the shuffled value, or a predicate
  friend bool same_place(const Meeting& a, const Meeting& b) {
    return a.kind == b.kind && a.file == b.file && a.line == b.line && a.mask == b.mask;
  }
};

struct Stack;

struct Fiber {
  enum class State { kNew, kReady, kWaiting, kDone };
  State state = State::kNew;
  dim3 thread_index;
  unsigned rank = 0;              // x fastest
  Meeting meeting;
  std::uint64_t result = 0;       // what the meeting gave
  void* stack_pointer = nullptr;
  void* fake_stack = nullptr;     // address sanitizer's
  std::unique_ptr<Stack> stack;
};

// One stream's execution engine on an emulated GPU. Errors (schema::Error{kInternal} from launch): a barrier or warp
// operation that not all threads it names reach, a shuffle from a lane that takes no part, a launch that the GPU of the
// model refuses.
class Emulator {
 public:
  Emulator(std::uint64_t seed, const GpuModel& model);
  Emulator(std::uint64_t seed, Emulator& beside);   // another stream on that one's GPU and memory
  ~Emulator();

  void launch(const Launch& launch, const std::function<void()>& body);

  using Recording = std::vector<std::function<void()>>;
  Recording* recording = nullptr;   // while one is made: what is put on the stream goes there instead
  // Does the work in the stream's order: now, or whenever the recording that is being made runs.
  void put(std::function<void()> work);
  // Errors: kInternal while a recording is made, which cannot have `what`.
  void refuse_in_recording(const char* what) const;

  // Called from inside kernels, through shim.h.
  std::uint64_t meet(const Meeting& meeting);
  const Fiber& fiber() const { return *current_; }
  dim3 block_index, block_size, grid_size;
  void* dynamic_shared = nullptr;
  const std::shared_ptr<DeviceMemory> gpu_memory;   // of all streams on the GPU
  DeviceMemory& memory;
  LaunchCheck check;
  std::function<void(const char* kernel)> before_launch;   // may throw, for tests of faults; may be empty

 private:
  void run_block();
  void run_ready();
  void resume(Fiber& fiber);
  void suspend(bool for_good);
  bool release_warp(Fiber& fiber);
  bool release_block();
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void report_stuck();
  static void enter();

  std::mt19937_64 random_;
  const char* kernel_ = "";
  const std::function<void()>* body_ = nullptr;
  const KernelSymbols* symbols_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<unsigned> order_;
  std::vector<std::unique_ptr<Stack>> free_stacks_;
  Fiber* current_ = nullptr;
  std::string error_;                    // set inside a fiber, thrown outside
  void* scheduler_pointer_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  std::size_t scheduler_size_ = 0;
};

// The emulator that is running a kernel on this thread; kernels have no other way to reach their indices.
inline constinit thread_local Emulator* running = nullptr;

}  // namespace kedge::engine::emulated
