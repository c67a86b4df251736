// Distances between rows on the GPU: one warp or one thread a pair, in the order of sums of distance.h.
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

// One thread's squared distance, in the order of warp_distance().
template <class T>
__device__ double serial_distance(const T* a, const T* b, std::int64_t d) {
  if (d <= kShortRow) return short_distance<Metric::kEuclidean>(a, b, d, 2.0);
  double lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = 0;
  for (std::int64_t j = 0; j < d; ++j) lanes[j % kLanes] += squared_difference(a[j], b[j]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace kedge::engine
