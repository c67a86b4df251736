// KEDGE_CLONES compiles a loop for AVX-512, AVX2 and the baseline, and the loader picks one; and sums along rows in fixed lanes.
#pragma once

#include <cstdint>

#include "engine/backend/functors.h"

// GCC alone: clang takes no noinline here, and its sanitizers are not up yet when the loader picks.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define KEDGE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), noinline))
#else
#define KEDGE_CLONES
#endif

namespace kedge::engine {

// Sum of term(j), j < n, in the lane order of functors.h. Inlined into functions marked KEDGE_CLONES.
template <class Term>
inline __attribute__((always_inline)) double lane_sum(std::int64_t n, Term&& term) {
  double lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(j + l);
  }
  for (int l = 0; j + l < n; ++l) lanes[l] += term(j + l);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace kedge::engine
