// Memory of an array whose bytes are made when they are read first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/device.h"

namespace kedge::engine {

// Host memory for one array of which this process needs a part, and seldom the rest: a rank its own rows. bring() makes
// a range now. The rest takes an address alone: a read of it raises a page fault, whose handler (of SIGSEGV) makes
// the piece around it. So what an algorithm reads is always there, and what it does not read takes no memory. Resource;
// outlives its array. bring() and allocate() by one thread, reads by any.
class DemandMemory final : public Memory {
 public:
  // Makes bytes [first, first + bytes) of the array at `to`. It may run in a signal handler: no allocation, no lock, no
  // exception, no OpenMP. Never called by two threads at once.
  using Make = std::function<void(std::size_t first, std::size_t bytes, std::byte* to)>;

  // host: of the process, for all that is not this array.
  DemandMemory(Memory& host, Make make);
  DemandMemory(const DemandMemory&) = delete;
  ~DemandMemory() override;

  // One array. Errors: kOutOfMemory.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* p) noexcept override;
  void to_device(void* device, const void* host, std::size_t bytes) override { host_.to_device(device, host, bytes); }
  void to_host(void* host, const void* device, std::size_t bytes) override { host_.to_host(host, device, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { host_.copy(to, from, bytes); }
  void zero(void* p, std::size_t bytes) override { host_.zero(p, bytes); }
  void synchronize() override { host_.synchronize(); }

  // Bytes [first, first + bytes) get memory, and write() fills them, with any number of threads; pieces that they share
  // with others are made first. Errors: those of write.
  void bring(std::size_t first, std::size_t bytes, const std::function<void(std::byte* array)>& write);
  // Bytes that are there.
  std::size_t held() const { return held_.load(); }
  // Whether an address is one of such an array of this process.
  static bool any_holds(const void* address);

 private:
  friend struct DemandFaults;
  bool holds(const void* address) const;
  bool make_piece(std::size_t piece);   // false: there is no memory
  std::size_t piece_end(std::size_t piece) const;

  Memory& host_;
  const Make make_;
  std::byte* reserved_ = nullptr;   // what the system gave
  std::byte* array_ = nullptr;
  std::size_t reserved_bytes_ = 0, bytes_ = 0, piece_bytes_ = 0;
  std::vector<std::atomic<bool>> is_made_;   // by piece
  std::atomic<bool> is_busy_ = false;        // a thread makes a piece
  std::atomic<std::size_t> held_ = 0;
};

}   // namespace kedge::engine
