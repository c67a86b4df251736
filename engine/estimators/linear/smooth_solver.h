// Minimises a smooth convex function whose evaluations read all rows, on the host, in double: by Newton's method on few
// rows, and on many by L-BFGS in variables in which a sample of the rows has found the function to be round.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/optimizers/newton.h"

namespace kedge::engine {

struct SmoothModel {
  Objective objective;   // infinite or NaN where it is not defined
  Curvature curvature;   // n x n, row-major; null where it would be too large
};

struct SmoothMinimum {
  std::vector<double> x;
  std::int64_t iterations = 0;
  bool is_converged = false;
  double fall = 0;   // of the value, as the first step promised: the scale of all that follows
};

inline constexpr std::int64_t kMostCurved =
    1024;   // columns up to which the second derivatives are made and factorised

// Newton's method with a step to where the promised fall of the value is rounding, or 1e-17 of the first one.
// Directions without curvature are left alone. `reporter(done)` may throw to stop.
SmoothMinimum minimize_curved(const SmoothModel& model, std::vector<double> x0, std::int64_t max_iter,
                              const std::function<void(std::int64_t)>& reporter);

// L-BFGS from x0 in variables in which `hessian` is the identity; empty: the variables as they are. Continues until
// what is left of the value's fall is 1e-16 of `fall`, or what rounding moves it by.
SmoothMinimum minimize_rounded(const SmoothModel& model, const std::vector<double>& hessian, std::vector<double> x0,
                               double fall, std::int64_t max_iter, const std::function<void(std::int64_t)>& reporter);

}   // namespace kedge::engine
