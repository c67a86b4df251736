// A steady clock that is read only when the device has finished what it was given.
#pragma once

#include <chrono>

#include "engine/core/context.h"

namespace kedge::engine {

// Borrows the context's device.
class Stopwatch {
 public:
  explicit Stopwatch(const Context& ctx) : memory_(ctx.memory()) { lap(); }
  // Seconds since the last lap, or since construction.
  double lap() {
    memory_.synchronize();
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  Memory& memory_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace kedge::engine
