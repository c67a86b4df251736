// Seconds of what is timed.
#pragma once

#include <chrono>

#include "engine/core/device.h"

namespace kedge::gpu_check {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of work() on a device, with all that it has started there.
template <class Work>
double seconds_of(engine::Memory& memory, Work&& work) {
  memory.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  work();
  memory.synchronize();
  return seconds_since(begin);
}

}   // namespace kedge::gpu_check
