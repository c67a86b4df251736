// Distances between rows: the formulas that every device and every search structure shares, with the order of their sums.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/backend/functors.h"
#include "engine/core/portability.h"

namespace kedge::engine {

enum class Metric : int { kEuclidean, kManhattan, kChebyshev, kMinkowski };

// size^power, size at least 0. Whole powers are products, which every device rounds alike; libraries' pow() differ in
// the last bit.
KEDGE_HD inline double minkowski_term(double size, double power) {
  constexpr int kMostFactors = 16;
  const int whole = power <= kMostFactors ? static_cast<int>(power) : 0;
  if (whole < 1 || whole != power) return pow(size, power);
  double product = size;
  for (int i = 1; i < whole; ++i) product *= size;
  return product;
}

// A distance between rows. Searches compare and return its reduced form, which saves the root: the sum of the columns' terms,
// |difference|^2, |difference| or |difference|^power, or the largest |difference| of the Chebyshev distance.
struct Distance {
  Metric metric = Metric::kEuclidean;
  double power = 2;   // of kMinkowski, above 0

  double reduced(double distance) const {
    if (metric == Metric::kEuclidean) return distance * distance;
    return metric == Metric::kMinkowski ? minkowski_term(distance, power) : distance;
  }
  double restored(double reduced) const {
    if (metric == Metric::kEuclidean) return std::sqrt(reduced);
    return metric == Metric::kMinkowski ? std::pow(reduced, 1 / power) : reduced;
  }
};

// Rows of up to this many columns are summed column after column, longer ones in lanes. (k-d trees sum the same way, so that what
// a tree finds is to the bit what a scan finds.)
inline constexpr std::int64_t kShortRow = 16;

template <Metric M>
KEDGE_HD double distance_term(double difference, double power) {
  if constexpr (M == Metric::kEuclidean) return difference * difference;
  const double size = fabs(difference);
  if constexpr (M == Metric::kMinkowski) return minkowski_term(size, power);
  return size;
}

template <Metric M>
KEDGE_HD double join_terms(double a, double b) {
  if constexpr (M == Metric::kChebyshev) return a > b ? a : b;
  return a + b;
}

template <Metric M, class T>
KEDGE_HD double short_distance(const T* a, const T* b, std::int64_t d, double power) {
  double sum = 0;
  for (std::int64_t j = 0; j < d; ++j)
    sum = join_terms<M>(sum, distance_term<M>(static_cast<double>(a[j]) - static_cast<double>(b[j]), power));
  return sum;
}

// Calls body.template operator()<M>() with the metric as a constant.
template <class Body>
auto with_metric(Metric metric, Body&& body) {
  switch (metric) {
    case Metric::kManhattan: return body.template operator()<Metric::kManhattan>();
    case Metric::kChebyshev: return body.template operator()<Metric::kChebyshev>();
    case Metric::kMinkowski: return body.template operator()<Metric::kMinkowski>();
    default: return body.template operator()<Metric::kEuclidean>();
  }
}

}  // namespace kedge::engine
