// Shadow memory by bytes: see races.h.
#include "tests/parity/races.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include "schemas/error.h"

namespace kedge::parity {

using engine::emulated::running;

Races& races() {
  static Races the_races;
  return the_races;
}

Races::Place Races::place_of(std::uintptr_t at) const {
  if (device_.has(at)) return Place::kDevice;
  for (const Range& range : shared_)
    if (range.has(at)) return Place::kShared;
  return Place::kElsewhere;
}

Races::Shadow& Races::shadow_of(std::uintptr_t at) {
  auto& page = pages_[at / kPage];
  if (!page) page = std::make_unique<std::array<Shadow, kPage>>();
  return (*page)[at % kPage];
}

// Whether nothing orders the earlier access before one of the current thread. Each block has shared memory of its own.
bool Races::is_unordered(const Access& earlier, Place place) const {
  if (earlier.launch != launch_) return false;
  if (earlier.block != block_) return place == Place::kDevice;
  if (earlier.thread == thread() || earlier.barriers != order_.barriers) return false;
  return earlier.warp != thread() / kWarp || order_.last_sync[thread()] <= earlier.syncs;
}

// Several accesses that nothing orders are kept as one of several threads: whatever conflicts with any of them is
// found.
void Races::note(Access& last, Place place, const void* code) const {
  const std::uint32_t warp = thread() / kWarp;
  Access now{launch_, block_, warp, thread(), order_.barriers, order_.syncs[warp], code};
  if (is_unordered(last, place)) {
    if (last.block != block_) now.block = kSeveral;
    if (last.warp != warp) now.warp = kSeveral;
    now.thread = kSeveral;
  }
  last = now;
}

void Races::report(Place place, const Access& earlier, const char* did, const char* does, const void* code) {
  if (!found_.empty()) return;
  const auto offset = [](const void* at) {   // for addr2line
    Dl_info info{};
    return ::dladdr(at, &info) ? static_cast<const char*>(at) - static_cast<const char*>(info.dli_fbase) : 0;
  };
  const auto several = [](const char* what, std::uint32_t n) {
    return n == kSeveral ? fmt::format("several {}s", what) : fmt::format("{} {}", what, n);
  };
  found_ =
      fmt::format("kernel {}: a race in {} memory: {} of {} {}, and thread {} of block {} {} (code at {:#x} and {:#x})",
                  kernel_, place == Place::kShared ? "shared" : "device", several("thread", earlier.thread),
                  several("block", earlier.block), did, thread(), block_, does, offset(earlier.code), offset(code));
}

void Races::access(const void* p, std::size_t bytes, bool writes, const void* code) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  const Place place = place_of(begin);
  if (place == Place::kElsewhere) return;
  for (std::uintptr_t at = begin; at < begin + bytes; ++at) {
    Shadow& shadow = shadow_of(at);
    if (is_unordered(shadow.write, place)) report(place, shadow.write, "wrote", writes ? "writes" : "reads", code);
    if (writes && is_unordered(shadow.read, place)) report(place, shadow.read, "read", "writes", code);
    if (writes && is_unordered(shadow.atomic, place))
      report(place, shadow.atomic, "changed it atomically", "writes", code);
    note(writes ? shadow.write : shadow.read, place, code);
  }
}

void Races::atomic(const void* p, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  const Place place = place_of(begin);
  if (place == Place::kElsewhere) return;
  for (std::uintptr_t at = begin; at < begin + bytes; ++at) {
    Shadow& shadow = shadow_of(at);
    if (is_unordered(shadow.write, place)) report(place, shadow.write, "wrote", "changes it atomically", nullptr);
    note(shadow.atomic, place, nullptr);
  }
}

void Races::launch_begins(const engine::emulated::Launch& launch, const void* region, const void* shared) {
  kernel_ = launch.name, ++launch_, found_.clear();
  const auto range_of = [](const void* at, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    return Range{begin, begin + bytes};
  };
  device_ = range_of(region, engine::emulated::kRegionBytes);
  shared_ = {range_of(shared, launch.shared_bytes)};
  for (const auto& variable : engine::emulated::symbols_of(launch.kernel).shared)
    shared_.push_back(range_of(variable.at, variable.bytes));
  block_ = kSeveral - 1;   // block_begins() makes it the first
}

void Races::block_begins() {
  block_ = block_ == kSeveral - 1 ? 0 : block_ + 1;   // in the order in which they run
  order_ = {};
}

void Races::warp_meets(unsigned first, unsigned mask) {
  const std::uint32_t now = ++order_.syncs[first / kWarp];
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (mask >> lane & 1U) order_.last_sync[first + lane] = now;
}

void Races::launch_ends() {
  if (!found_.empty()) throw schema::Error(schema::ErrorCode::kInternal, found_);
}

}   // namespace kedge::parity

namespace {

void see(const void* code, const void* p, std::size_t bytes, bool writes) {
  if (kedge::parity::running) kedge::parity::races().access(p, bytes, writes, code);
}

}   // namespace

// What gcc calls before each access (-fsanitize=thread) and in each basic block (-fsanitize-coverage=trace-pc); the
// sanitizer's own library is not linked.
#define KEDGE_SEE(name, bytes, writes)                  \
  void name(void* p) {                                  \
    see(__builtin_return_address(0), p, bytes, writes); \
  }
#define KEDGE_SEE_ALL(bytes)                                     \
  KEDGE_SEE(__tsan_read##bytes, bytes, false)                    \
  KEDGE_SEE(__tsan_write##bytes, bytes, true)                    \
  KEDGE_SEE(__tsan_unaligned_read##bytes, bytes, false)          \
  KEDGE_SEE(__tsan_unaligned_write##bytes, bytes, true)          \
  KEDGE_SEE(__tsan_volatile_read##bytes, bytes, false)           \
  KEDGE_SEE(__tsan_volatile_write##bytes, bytes, true)           \
  KEDGE_SEE(__tsan_unaligned_volatile_read##bytes, bytes, false) \
  KEDGE_SEE(__tsan_unaligned_volatile_write##bytes, bytes, true)

extern "C" {
KEDGE_SEE_ALL(1)
KEDGE_SEE_ALL(2)
KEDGE_SEE_ALL(4)
KEDGE_SEE_ALL(8)
KEDGE_SEE_ALL(16)
void __tsan_read_range(void* p, unsigned long bytes) {
  see(__builtin_return_address(0), p, bytes, false);
}
void __tsan_write_range(void* p, unsigned long bytes) {
  see(__builtin_return_address(0), p, bytes, true);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __sanitizer_cov_trace_pc() {}
}   // extern "C"
