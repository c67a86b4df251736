// Sets of points that threads join at once. A root is the lowest of its set, so the sets do not depend on the order of the unions.
#pragma once

#include "engine/backend/cuda/launch.cuh"

namespace kedge::engine {

__device__ inline std::int32_t find_root(std::int32_t* parents, std::int32_t i) {
  const volatile std::int32_t* const seen = parents;
  for (std::int32_t parent = seen[i]; parent != i; parent = seen[i]) {
    const std::int32_t above = seen[parent];
    if (above != parent) atomicCAS(parents + i, parent, above);   // halves the path
    i = above;
  }
  return i;
}

__device__ inline void unite(std::int32_t* parents, std::int32_t a, std::int32_t b) {
  for (;;) {
    a = find_root(parents, a), b = find_root(parents, b);
    if (a == b) return;
    const std::int32_t high = a < b ? b : a, low = a < b ? a : b;
    if (atomicCAS(parents + high, high, low) == high) return;
  }
}

}  // namespace kedge::engine
