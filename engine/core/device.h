// A device: its memory and its name. What it can compute is engine/backend/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kedge::engine {

enum class DeviceKind { kCpu, kCuda, kEmulated };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  std::string name;                // processor or GPU model
  std::string driver;              // CUDA driver version, empty on the CPU
  int threads = 1;                 // host threads used by ops
  std::int64_t memory_bytes = 0;   // total
};

// Of a GPU: a block of rows that is worth a kernel, and small beside the memory.
inline constexpr std::int64_t kGpuBlockBytes = std::int64_t{64} << 20;

// How a device is used best. Estimators choose by these and do not ask which device they are on.
struct DeviceTraits {
  bool uses_host_memory = false;   // host code may read and write the device's memory
  int concurrent_fits = 1;         // fits that gain from running at the same time, each on one thread by side_by_side()
  std::int64_t block_bytes = 0;    // of rows that are made, used and made again: as many as keep the device busy
};

// Memory of one device. All calls order themselves after earlier ops of the same device.
// Errors: schema::Error{kOutOfMemory} from allocate; {kInternal} with the driver's words otherwise.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(std::size_t bytes) = 0;          // aligned to 256 bytes; never null, also for 0 bytes
  virtual void deallocate(void* p) noexcept = 0;
  virtual void to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual void to_host(void* host, const void* device, std::size_t bytes) = 0;   // returns when the bytes are there
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;          // within the device
  virtual void zero(void* p, std::size_t bytes) = 0;
  virtual void synchronize() = 0;                         // every earlier op has finished
};

}  // namespace kedge::engine
