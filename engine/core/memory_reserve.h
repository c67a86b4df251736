// Memory reserved for decisions that must not stay half done: for reports and writes when no other memory is free.
#pragma once

#include <cstddef>

namespace kedge::engine {

// Reserves so many bytes for the process, in slices. In a thread with UsesReserve, `new` takes from them. Call it once,
// before threads are started. What was taken is reserved again when a UsesReserve is made and there is memory.
void set_up_memory_reserve(std::size_t bytes);

// How much of it is there now.
std::size_t memory_reserve();

// While one lives, an allocation of this thread that fails is given a slice of the reserve, and where that is spent waits up to ten
// seconds, before it throws std::bad_alloc. All others throw at once.
class UsesReserve {
 public:
  UsesReserve();
  ~UsesReserve();
  UsesReserve(const UsesReserve&) = delete;
};

}   // namespace kedge::engine
