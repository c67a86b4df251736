// What a GPU's memory has in addition to Memory: others use it as well, a process keeps what it has freed of it, and
// uploads go through pinned buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/core/device.h"

namespace kedge::engine {

class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  // What allocate() can give now, other processes and the vendor's libraries considered; 0: unknown.
  virtual std::int64_t free_bytes() const = 0;
  // Between two jobs: gives back to the system what is kept of freed memory, but for a little that the next job begins
  // with.
  virtual void trim() = 0;
  // The most that upload() takes at once.
  virtual std::size_t upload_bytes() const = 0;
  // Calls `write` with host memory for `bytes` bytes, at most upload_bytes(), and starts their copy to `device`; what
  // the caller writes next overlaps with it. Saves to_device()'s copy between host memories.
  virtual void upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) = 0;
};

// Null for memory of another kind.
inline GpuMemory* gpu_memory(Memory& memory) {
  return dynamic_cast<GpuMemory*>(&memory);
}

}   // namespace kedge::engine
