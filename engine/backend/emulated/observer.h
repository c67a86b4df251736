// How a program watches the emulator work: the model of a GPU's time (tests/gpu_model) counts what it sees here, and
// tests/parity/races.h looks for races.
#pragma once

#include <cstddef>

namespace kedge::engine::emulated {

struct Launch;

enum class Copy { kToDevice, kToHost, kWithin, kZero };

// All calls come from the thread that runs the emulator, in the order of the stream.
class Observer {
 public:
  virtual ~Observer() = default;
  // The region that all device memory lies in (null under the address sanitizer), and the block's dynamic shared
  // memory.
  virtual void launch_begins(const Launch& launch, const void* region, const void* shared) = 0;
  virtual void block_begins() = 0;
  virtual void block_meets() = 0;   // every thread of the block waits at a barrier, or has ended
  // __syncwarp() of the lanes of the mask, in the warp that begins with thread `first`. Shuffles and votes are not
  // meant.
  virtual void warp_meets(unsigned first, unsigned mask) { static_cast<void>(first), static_cast<void>(mask); }
  virtual void launch_ends() = 0;   // may throw what it has found
  virtual void atomic(const void* p, std::size_t bytes) = 0;
  // A call of a library on the device: how many operations on values of so many bytes each, and how many bytes it must
  // touch.
  virtual void library(const char* what, std::size_t value_bytes, double operations, double bytes) = 0;
  virtual void copied(Copy kind, std::size_t bytes) = 0;
  virtual void waited() = 0;   // the host, for the device
  // Between these two the host started what is seen by one call (engine/backend/recorded_steps.h).
  virtual void recording_begins() {}
  virtual void recording_ends() {}
  virtual void allocated(std::size_t bytes) = 0;
};

inline Observer* observer = nullptr;   // set by programs that watch

}   // namespace kedge::engine::emulated
