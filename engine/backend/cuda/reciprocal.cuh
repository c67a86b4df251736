// Reciprocals by the unit for special functions: one instruction instead of eight.
#pragma once

#include "engine/backend/cuda/launch.cuh"

namespace kedge::engine {

// 1 / x of an x >= 1, within 1 unit of the last place; 0 beyond 2^126. The emulator rounds it correctly.
#if defined(__CUDACC__)
__device__ __forceinline__ float quick_reciprocal(float x) {
  float made;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(made) : "f"(x));
  return made;
}
#else
inline float quick_reciprocal(float x) {
  return 1.0F / x;
}
#endif

}   // namespace kedge::engine
