// The fiber scheduler: runs every thread of a block up to its next barrier, in random order, then lets them meet.
#include "engine/backend/emulated/emulator.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "engine/backend/emulated/observer.h"
#include "schemas/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else   // without the sanitizer its annotations are nothing
static void __sanitizer_start_switch_fiber(void**, const void*, std::size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, std::size_t*) {}
static void __asan_unpoison_memory_region(const volatile void*, std::size_t) {}
#endif

// The thread sanitizer counts frames: those that are entered on one stack and left on another, or never, are hidden from it.
#if defined(__SANITIZE_THREAD__) && defined(__clang__)
#define KEDGE_UNCOUNTED __attribute__((disable_sanitizer_instrumentation))
#else
#define KEDGE_UNCOUNTED
#endif

// Saves the caller's registers on its stack, leaves that stack's pointer in *from, and goes on where `to` was left.
// x86-64 System V: swapcontext would do, but makes a system call each time.
extern "C" void kedge_switch_stack(void** from, void* to);
asm(R"(
.text
.type kedge_switch_stack, @function
kedge_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kedge_switch_stack, .-kedge_switch_stack
)");

namespace kedge::engine::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024, kGuardBytes = 4096;
constexpr unsigned kWarp = 32;
constexpr int kRubbish = 0xA5;   // what a block finds in its shared memory

std::mutex& launch_mutex() {   // __shared__ variables are statics of the kernel, so one launch at a time in the process
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct Stack {
  char* base;
  Stack() {
    void* p = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    mprotect(p, kGuardBytes, PROT_NONE);
    base = static_cast<char*>(p) + kGuardBytes;
  }
  ~Stack() { munmap(base - kGuardBytes, kStackBytes + kGuardBytes); }
  // The stack pointer of a fiber that has not begun: six registers, the entry, and a null return address for unwinders.
  void* prepare(void (*entry)()) {
    void** top = reinterpret_cast<void**>(base + kStackBytes);
    std::memset(top - 8, 0, 8 * sizeof(void*));
    top[-2] = reinterpret_cast<void*>(entry);
    return top - 8;
  }
};

Emulator::Emulator(std::uint64_t seed, const GpuModel& model)
    : gpu_memory(std::make_shared<DeviceMemory>(model.memory_bytes)),
      memory(*gpu_memory),
      check(model),
      random_(seed) {}
Emulator::Emulator(std::uint64_t seed, Emulator& beside)
    : gpu_memory(beside.gpu_memory), memory(*gpu_memory), check(beside.check.model()), random_(seed) {}
Emulator::~Emulator() = default;

void Emulator::put(std::function<void()> work) {
  if (recording) recording->push_back(std::move(work));
  else work();
}

void Emulator::refuse_in_recording(const char* what) const {
  if (recording)
    throw schema::Error(schema::ErrorCode::kInternal, fmt::format("emulated GPU: a recording cannot have {}", what));
}

void Emulator::launch(const Launch& launch, const std::function<void()>& body) {
  if (recording) {   // refused now, as when it runs
    if (const std::string refusal = check.refusal(launch); !refusal.empty())
      throw schema::Error(schema::ErrorCode::kInternal, fmt::format("kernel {}: {}", launch.name, refusal));
    recording->push_back([this, launch, body] { this->launch(launch, body); });
    return;
  }
  if (before_launch) before_launch(launch.name);
  const std::lock_guard lock(launch_mutex());
  const DeviceAccess access(memory);
  const auto& [name, kernel, grid, block, shared_bytes] = launch;
  kernel_ = name, body_ = &body, grid_size = grid, block_size = block, block_index = dim3(0, 0, 0);
  if (const std::string refusal = check.refusal(launch); !refusal.empty())
    throw schema::Error(schema::ErrorCode::kInternal, fmt::format("kernel {}: {}", name, refusal));
  symbols_ = &symbols_of(kernel);

  // Exactly as large as asked for, so that the sanitizer sees an overrun; filled with rubbish, as on a GPU.
  std::unique_ptr<void, decltype(&std::free)> shared(std::malloc(std::max<std::size_t>(shared_bytes, 1)), &std::free);
  dynamic_shared = shared.get();
  if (observer) observer->launch_begins(launch, memory.region(), dynamic_shared);
  std::vector<std::uint64_t> blocks(std::size_t{grid.x} * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), random_);
  for (const std::uint64_t b : blocks) {
    block_index = dim3(static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                       static_cast<unsigned>(b / grid.x / grid.y));
    if (shared_bytes) std::memset(dynamic_shared, kRubbish, shared_bytes);
    for (const SharedVariable& variable : symbols_->shared) std::memset(variable.at, kRubbish, variable.bytes);
    if (observer) observer->block_begins();
    run_block();
  }
  if (observer) observer->launch_ends();
}

void Emulator::run_block() {
  const unsigned threads = block_size.x * block_size.y * block_size.z;
  fibers_.resize(threads);
  order_.resize(threads);
  std::iota(order_.begin(), order_.end(), 0u);
  for (unsigned rank = 0; rank < threads; ++rank) {
    fibers_[rank].state = Fiber::State::kNew;
    fibers_[rank].rank = rank;
    fibers_[rank].thread_index =
        dim3(rank % block_size.x, rank / block_size.x % block_size.y, rank / block_size.x / block_size.y);
  }
  Emulator* const outer = std::exchange(running, this);
  do {
    run_ready();
    running = outer;   // an error below leaves this function
    if (!error_.empty()) fail(error_);
    if (observer) observer->block_meets();
    running = this;
  } while (release_block());
  running = outer;
}

// Until every thread waits at a block barrier, is stuck in a warp operation, or has ended.
void Emulator::run_ready() {
  const std::uint64_t seed = random_();
  std::minstd_rand fast(static_cast<std::uint32_t>(seed | 1));   // a full engine would cost as much as the kernel
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[fast() % i]);
  for (bool progress = true; progress;) {
    progress = false;
    for (const unsigned rank : order_) {
      Fiber& fiber = fibers_[rank];
      if (fiber.state != Fiber::State::kNew && fiber.state != Fiber::State::kReady) continue;
      resume(fiber);
      progress = true;
      if (!error_.empty()) return;
    }
  }
}

void Emulator::resume(Fiber& fiber) {
  if (fiber.state == Fiber::State::kNew) {   // taken late and given back early: a kernel without barriers needs one stack
    if (free_stacks_.empty()) free_stacks_.push_back(std::make_unique<Stack>());
    fiber.stack = std::move(free_stacks_.back());
    free_stacks_.pop_back();
    fiber.stack_pointer = fiber.stack->prepare(&Emulator::enter);
    fiber.fake_stack = nullptr;
  }
  current_ = &fiber;
  __sanitizer_start_switch_fiber(&scheduler_fake_stack_, fiber.stack->base, kStackBytes);
  kedge_switch_stack(&scheduler_pointer_, fiber.stack_pointer);
  __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
  if (fiber.state == Fiber::State::kDone) free_stacks_.push_back(std::move(fiber.stack));
}

// The first frame of a fiber. It is never left, so it must own nothing.
KEDGE_UNCOUNTED void Emulator::enter() {
  Emulator& self = *running;
  __sanitizer_finish_switch_fiber(nullptr, &self.scheduler_bottom_, &self.scheduler_size_);
  (*self.body_)();
  self.current_->state = Fiber::State::kDone;
  self.suspend(true);
  __builtin_unreachable();
}

KEDGE_UNCOUNTED void Emulator::suspend(bool for_good) {
  Fiber& fiber = *current_;
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fiber.fake_stack, scheduler_bottom_, scheduler_size_);
  kedge_switch_stack(&fiber.stack_pointer, scheduler_pointer_);
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_bottom_, &scheduler_size_);
}

std::uint64_t Emulator::meet(const Meeting& meeting) {
  Fiber& fiber = *current_;
  fiber.meeting = meeting;
  fiber.state = Fiber::State::kWaiting;
  if (meeting.kind == Meeting::Kind::kBlock || !release_warp(fiber)) suspend(false);
  return fiber.result;
}

// Lets the lanes of a warp go if `fiber` was the last that they waited for. Runs inside a fiber: errors are left in error_.
bool Emulator::release_warp(Fiber& fiber) {
  const unsigned first = fiber.rank / kWarp * kWarp;
  const unsigned count = std::min<unsigned>(kWarp, static_cast<unsigned>(fibers_.size()) - first);
  Fiber* const lanes = &fibers_[first];
  const auto named = [&](unsigned lane) { return (fiber.meeting.mask >> lane & 1u) != 0; };
  if (!named(fiber.rank - first)) {
    error_ = fmt::format("thread {} is not in its own mask at {}:{}", fiber.rank, fiber.meeting.file, fiber.meeting.line);
    return false;
  }
  for (unsigned lane = 0; lane < count; ++lane) {
    if (named(lane) && (lanes[lane].state != Fiber::State::kWaiting || !same_place(lanes[lane].meeting, fiber.meeting))) return false;
  }
  std::uint64_t ballot = 0;
  for (unsigned lane = 0; lane < count; ++lane) ballot |= std::uint64_t{named(lane) && lanes[lane].meeting.value} << lane;
  for (unsigned lane = 0; lane < count; ++lane) {
    if (!named(lane)) continue;
    const unsigned source = static_cast<unsigned>(lanes[lane].meeting.source);
    if (fiber.meeting.kind == Meeting::Kind::kShuffle && (source >= count || !named(source))) {
      error_ = fmt::format("thread {} shuffles from lane {}, which takes no part, at {}:{}", lanes[lane].rank, source,
                           fiber.meeting.file, fiber.meeting.line);
      return false;
    }
    lanes[lane].result = fiber.meeting.kind == Meeting::Kind::kShuffle ? lanes[source].meeting.value : ballot;
    lanes[lane].state = Fiber::State::kReady;
  }
  if (observer && fiber.meeting.kind == Meeting::Kind::kWarpSync) observer->warp_meets(first, fiber.meeting.mask);
  return true;
}

// Opens the block barrier if every thread waits at it; false when the block has ended.
bool Emulator::release_block() {
  const auto done = std::ranges::count(fibers_, Fiber::State::kDone, &Fiber::state);
  if (done == static_cast<std::ptrdiff_t>(fibers_.size())) return false;
  const Meeting& place = fibers_[0].meeting;
  std::uint64_t count = 0;
  for (const Fiber& fiber : fibers_) {
    if (fiber.state != Fiber::State::kWaiting || fiber.meeting.kind != Meeting::Kind::kBlock || !same_place(fiber.meeting, place))
      report_stuck();
    count += fiber.meeting.value;
  }
  for (Fiber& fiber : fibers_) fiber.state = Fiber::State::kReady, fiber.result = count;
  return true;
}

void Emulator::report_stuck() {
  const auto describe = [](const Fiber& fiber) {
    if (fiber.state == Fiber::State::kDone) return fmt::format("thread {} has ended", fiber.rank);
    const bool block = fiber.meeting.kind == Meeting::Kind::kBlock;
    return fmt::format("thread {} waits at {} at {}:{}", fiber.rank, block ? "__syncthreads" : "a warp operation",
                       fiber.meeting.file, fiber.meeting.line);
  };
  const auto waiting = std::ranges::find(fibers_, Fiber::State::kWaiting, &Fiber::state);
  for (const Fiber& other : fibers_) {
    if (other.state == waiting->state && same_place(other.meeting, waiting->meeting)) continue;
    fail(fmt::format("divergent barrier: {} while {}", describe(*waiting), describe(other)));
  }
  fail(fmt::format("divergent barrier: {}, with a mask that names threads that are not there", describe(*waiting)));
}

void Emulator::fail(const std::string& what) {
  const std::string message =
      fmt::format("kernel {}, block ({}, {}, {}): {}", kernel_, block_index.x, block_index.y, block_index.z, what);
  error_.clear();
  running = nullptr;
  for (Fiber& fiber : fibers_) {   // the frames of suspended fibers are given up
    if (!fiber.stack) continue;
    __asan_unpoison_memory_region(fiber.stack->base, kStackBytes);
    free_stacks_.push_back(std::move(fiber.stack));
  }
  throw schema::Error(schema::ErrorCode::kInternal, message);
}

}  // namespace kedge::engine::emulated
