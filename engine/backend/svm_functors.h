// Formulas of sequential minimal optimisation that processors and GPUs share, so that both take the same steps.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/core/portability.h"

namespace kedge::engine {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kLeastCurvature = 1e-12;   // LIBSVM's tau, of a pair along which the kernel is not positive
inline constexpr double kOfRounding = 1e-5;        // of the values of a pair, which are floats
inline constexpr double kLeastPivot = 1e-10;       // of the largest diagonal value: below the rounding of kernel values
inline constexpr std::int64_t kMostFree = 512;     // variables that move together
inline constexpr std::int64_t kLookEvery = 64;     // steps between two looks at how many are free
inline constexpr double kOfFace = 2;   // time of the steps of pairs before a step of the free variables, in its own
inline constexpr std::int64_t kSmoVector = 8;   // variables that the host handles together; groups begin at a whole one

// Whether a multiplier may change so that y times it rises, or falls. One that has no room may do neither.
KEDGE_HD inline bool may_rise(double y, double alpha, double C) {
  return y > 0 ? alpha < C : alpha > 0 && C > 0;
}
KEDGE_HD inline bool may_fall(double y, double alpha, double C) {
  return y > 0 ? alpha > 0 && C > 0 : alpha < C;
}

// How far y times a multiplier may rise, or fall.
KEDGE_HD inline double smo_room(double y, double alpha, double C, bool rises) {
  return (y > 0) == rises ? C - alpha : alpha;
}

// The multiplier, when y times it changes by `step`. A bound is met to the bit.
KEDGE_HD inline double smo_moved(double y, double alpha, double C, double step) {
  const double size = step < 0 ? -step : step;
  if (size >= smo_room(y, alpha, C, step > 0)) return (y > 0) == (step > 0) ? C : 0.0;
  return alpha + y * step;
}

// How many places a set takes, of which the second group begins at `first_of_second`.
KEDGE_HD inline std::int64_t smo_places(std::int64_t n, std::int64_t first_of_second) {
  const std::int64_t shift = (first_of_second + kSmoVector - 1) / kSmoVector * kSmoVector - first_of_second;
  return (n + shift + kSmoVector - 1) / kSmoVector * kSmoVector;
}

// How many steps of pairs take as long on a processor as one of `n_free` variables: operations, and what a step of a
// pair takes else.
KEDGE_HD inline double pairs_of_face(std::int64_t n_free, std::int64_t places) {
  const auto f = static_cast<double>(n_free), n = static_cast<double>(places);
  return (f * f * f / 3 + 3 * f * f + f * n) / (4 * n + 200);
}

}   // namespace kedge::engine
