// Distances between rows on the CPU, in the order of sums of distance.h, with vector instructions where rows are long.
#pragma once

#include "engine/backend/distance.h"
#include "engine/backend/simd.h"

namespace kedge::engine {

template <Metric M, class T>
inline __attribute__((always_inline)) double long_distance(const T* a, const T* b, std::int64_t d, double power) {
  if constexpr (M == Metric::kChebyshev) {
    double lanes[kLanes] = {}, top = 0;
    std::int64_t j = 0;
    const auto take = [&](int l) {
      const double size = distance_term<M>(static_cast<double>(a[j + l]) - static_cast<double>(b[j + l]), power);
      lanes[l] = size > lanes[l] ? size : lanes[l];
    };
    for (; j + kLanes <= d; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) take(l);
    }
    for (int l = 0; j + l < d; ++l) take(l);
    for (int l = 0; l < kLanes; ++l) top = lanes[l] > top ? lanes[l] : top;
    return top;
  } else {
    return lane_sum(d, [=](std::int64_t j) { return distance_term<M>(static_cast<double>(a[j]) - static_cast<double>(b[j]), power); });
  }
}

// Inlined into functions marked KEDGE_CLONES.
template <Metric M, class T>
inline __attribute__((always_inline)) double row_distance(const T* a, const T* b, std::int64_t d, double power) {
  return d <= kShortRow ? short_distance<M>(a, b, d, power) : long_distance<M>(a, b, d, power);
}

template <class T>
inline __attribute__((always_inline)) double squared_distance(const T* a, const T* b, std::int64_t d) {
  return row_distance<Metric::kEuclidean>(a, b, d, 2.0);
}

}  // namespace kedge::engine
