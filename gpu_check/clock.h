// Seconds of what is timed.
#pragma once

#include <chrono>

namespace kedge::gpu_check {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}   // namespace kedge::gpu_check
