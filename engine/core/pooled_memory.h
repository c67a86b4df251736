// Memory that others use as well, and of which a process keeps what it has freed: that of a GPU.
#pragma once

#include <cstdint>

#include "engine/core/device.h"

namespace kedge::engine {

class PooledMemory {
 public:
  virtual ~PooledMemory() = default;
  // What allocate() can give now, other processes and the vendor's libraries considered; 0: unknown.
  virtual std::int64_t free_bytes() const = 0;
  // Between two jobs: gives back to the system what is kept of freed memory, but for a little that the next job begins
  // with.
  virtual void trim() = 0;
};

// Null for memory of another kind.
inline PooledMemory* pooled(Memory& memory) {
  return dynamic_cast<PooledMemory*>(&memory);
}

}   // namespace kedge::engine
