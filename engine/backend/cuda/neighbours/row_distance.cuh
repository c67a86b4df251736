// Distances between rows on the GPU: one warp a pair, in the order of sums of distance.h.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/distance.h"

namespace kedge::engine {

// Every lane of the warp gets the reduced distance. All 32 lanes call it; blockDim.x is a multiple of 32.
template <Metric M, class T>
__device__ double warp_distance(const T* a, const T* b, std::int64_t d, double power) {
  if (d <= kShortRow) return short_distance<M>(a, b, d, power);
  double sum = 0;
  for (std::int64_t j = threadIdx.x % kLanes; j < d; j += kLanes)
    sum = join_terms<M>(sum, distance_term<M>(static_cast<double>(a[j]) - static_cast<double>(b[j]), power));
  for (int width = kLanes / 2; width > 0; width /= 2) sum = join_terms<M>(sum, __shfl_down_sync(kFullWarp, sum, width));
  return __shfl_sync(kFullWarp, sum, 0);
}

}  // namespace kedge::engine
