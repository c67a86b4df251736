// Device memory of the emulator: pages that only ops may touch, so that host code that reads an array directly crashes there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace kedge::engine::emulated {

inline constexpr std::size_t kRegionBytes = std::size_t{64} << 30;   // of addresses: reserved, not used

// One emulated GPU's memory. Under the address sanitizer each block is malloc's, exactly as large as asked for, and always
// accessible; else blocks lie in one region of pages without access, which DeviceAccess opens. Safe to use from several threads.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t limit_bytes = 0);   // of what allocate() gives out; 0: any
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Aligned to 256 bytes, filled with NaN in both widths. Errors: schema::Error{kOutOfMemory}.
  void* allocate(std::size_t bytes);
  // The same of host memory that kernels read over the link: as protected, and not part of what the device has.
  void* allocate_linked(std::size_t bytes);
  void deallocate(void* p) noexcept;   // what was there becomes NaN as well, for those that still read it

  // A copy from pinned host memory that is done as late as the stream's order allows: when something else uses the
  // device. Then the pinned bytes become rubbish. Who changes them earlier changes what is copied.
  void copy_late(void* device, void* pinned, std::size_t bytes);

  const void* region() const { return region_; }   // kRegionBytes long; null under the address sanitizer
  // The next four are 0 under the address sanitizer, where the limit does not hold either.
  std::size_t live_bytes() const;     // given out and not given back, linked or not
  std::size_t linked_bytes() const;   // of these, linked
  std::size_t own_bytes() const;      // and the others
  std::size_t peak_bytes() const;     // the most of the others since the device was made
  std::size_t limit_bytes() const { return limit_; }
  std::function<void(std::size_t bytes)> before_allocate;   // may throw, for tests of faults; may be empty

  // How often the host has waited for the device: copies to the host and synchronisations.
  std::int64_t syncs = 0;
  // Bytes that copies took from the device to the host, and from the host to the device.
  std::int64_t bytes_to_host = 0, bytes_to_device = 0;

 private:
  friend class DeviceAccess;
  void open();
  void close() noexcept;
  void protect(int access) const noexcept;
  std::size_t take(std::size_t bytes, bool is_linked);
  void give_back(std::size_t at) noexcept;

  struct LateCopy {
    void *device, *pinned;
    std::size_t bytes;
  };

  const std::size_t limit_;
  mutable std::mutex mutex_;                          // guards all below
  char* region_ = nullptr;
  std::size_t used_ = 0;                      // bytes of the region that were ever given out, whole pages
  int open_ = 0;                              // accesses in progress
  std::map<std::size_t, std::size_t> taken_, free_;   // by offset: bytes; free neighbours are joined
  std::map<std::size_t, std::size_t> linked_;         // of taken_
  std::size_t own_ = 0, peak_ = 0;                    // bytes that are taken and not linked
  std::vector<LateCopy> late_copies_;
};

// Opens the memory while it lives: an op, a kernel or a copy, before which the late copies are done. Nests.
class DeviceAccess {
 public:
  explicit DeviceAccess(DeviceMemory& memory) : memory_(memory) { memory_.open(); }
  ~DeviceAccess() { memory_.close(); }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  DeviceMemory& memory_;
};

}  // namespace kedge::engine::emulated
