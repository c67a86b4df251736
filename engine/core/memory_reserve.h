// Memory put by for decisions that must not be left half done: what must be told or written when nothing else is free.
#pragma once

#include <cstddef>

namespace kedge::engine {

// Puts so many bytes by for the process, in slices, and has `new` take from them for a thread with UsesReserve. Once, before threads
// are started; what was taken is put by again when a UsesReserve is made and there is room.
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
