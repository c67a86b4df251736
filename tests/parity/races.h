// Finds races in kernels on the emulator: two threads at one byte of shared or device memory, one of them writing, and
// nothing that orders them. The kernels are those of tests/gpu_model, which gcc instruments; the calls are taken here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/observer.h"

namespace kedge::parity {

// What orders two accesses: a block's barrier; __syncwarp() of both lanes, but neither shuffles nor votes, which order
// no memory; that both are atomic; the end of a launch. Reads beside atomics pass: union-find walks that way.
// launch_ends() throws schema::Error{kInternal} for the first race of the launch. One launch at a time in the process.
class Races final : public engine::emulated::Observer {
 public:
  void access(const void* p, std::size_t bytes, bool writes, const void* code);

  void launch_begins(const engine::emulated::Launch& launch, const void* region, const void* shared) override;
  void block_begins() override;
  void block_meets() override { ++order_.barriers; }
  void warp_meets(unsigned first, unsigned mask) override;
  void launch_ends() override;
  void atomic(const void* p, std::size_t bytes) override;

  void library(const char*, std::size_t, double, double) override {}
  void copied(engine::emulated::Copy, std::size_t) override {}
  void waited() override {}
  void allocated(std::size_t) override {}

 private:
  enum class Place { kElsewhere, kDevice, kShared };
  // The last access of one kind to one byte. kSeveral threads, warps or blocks: accesses that nothing orders.
  struct Access {
    std::uint32_t launch = 0, block = 0, warp = 0, thread = 0;
    std::uint32_t barriers = 0;   // of its block before it
    std::uint32_t syncs = 0;      // of its warp before it
    const void* code = nullptr;
  };
  struct Shadow {
    Access read, write, atomic;
  };
  static constexpr std::uint32_t kSeveral = ~std::uint32_t{0}, kWarp = 32, kMaxThreads = 1024;
  static constexpr std::size_t kPage = 512;   // bytes that have their shadow together
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool has(std::uintptr_t at) const { return at >= begin && at < end; }
  };
  // How far a block's threads are ordered.
  struct Order {
    std::uint32_t barriers = 0;
    std::array<std::uint32_t, kMaxThreads / kWarp> syncs{};   // of each warp
    std::array<std::uint32_t, kMaxThreads> last_sync{};       // of each thread, the last in which it took part
  };

  Place place_of(std::uintptr_t at) const;
  Shadow& shadow_of(std::uintptr_t at);
  bool is_unordered(const Access& earlier, Place place) const;
  void note(Access& last, Place place, const void* code) const;
  void report(Place place, const Access& earlier, const char* did, const char* does, const void* code);
  std::uint32_t thread() const { return engine::emulated::running->fiber().rank; }

  const char* kernel_ = "";
  std::uint32_t launch_ = 0, block_ = 0;
  Order order_;
  Range device_;
  std::vector<Range> shared_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<std::array<Shadow, kPage>>> pages_;
  std::string found_;
};

// The one that the instrumented kernels of this program call.
Races& races();

}   // namespace kedge::parity
