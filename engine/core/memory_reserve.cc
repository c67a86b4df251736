// Slices are mappings: given back, they are free for every thread's heap and for the libraries' as well.
#include "engine/core/memory_reserve.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace kedge::engine {
namespace {

constexpr std::size_t kSlices = 16;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{10}, kPatience{10'000};
constexpr std::chrono::seconds kAnother{1};   // between two calls: they are of two allocations

std::size_t slice_bytes = 0;                      // set once
std::array<std::atomic<void*>, kSlices> slices;   // null: taken
thread_local int users = 0;
thread_local Clock::time_point waits_since{}, last_wait{};

// Room that is promised, though not touched: it counts against every limit but that of a container, whose end is the kernel's.
void fill() {
  for (std::atomic<void*>& slice : slices) {
    if (slice.load() != nullptr) continue;
    void* const memory = ::mmap(nullptr, slice_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    void* none = nullptr;
    if (!slice.compare_exchange_strong(none, memory)) ::munmap(memory, slice_bytes);   // another thread was quicker
  }
}

bool give_slice() {
  for (std::atomic<void*>& slice : slices) {
    if (void* const memory = slice.exchange(nullptr)) return ::munmap(memory, slice_bytes) == 0;
  }
  return false;
}

// What `new` calls before it tries again.
void make_room() {
  if (users == 0) throw std::bad_alloc();
  if (give_slice()) return;
  if (Clock::now() - last_wait > kAnother) waits_since = Clock::now();
  if (Clock::now() - waits_since >= kPatience) throw std::bad_alloc();
  std::this_thread::sleep_for(kPause);
  last_wait = Clock::now();
}

}   // namespace

void set_up_memory_reserve(std::size_t bytes) {
  slice_bytes = bytes / kSlices;
  fill();
  std::set_new_handler(make_room);
}

std::size_t memory_reserve() {
  std::size_t bytes = 0;
  for (const std::atomic<void*>& slice : slices) bytes += slice.load() != nullptr ? slice_bytes : 0;
  return bytes;
}

UsesReserve::UsesReserve() {
  if (users++ == 0 && memory_reserve() < kSlices * slice_bytes) fill();
}

UsesReserve::~UsesReserve() {
  --users;
}

}   // namespace kedge::engine
