// Newton's method with a full second-derivative matrix, also with weighted absolute values: few, costly, very effective
// iterations.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "engine/estimators/optimizers/lbfgs.h"

namespace kedge::engine {

// Writes the matrix of second derivatives at x: n x n, row-major, symmetric positive semidefinite.
using Curvature = std::function<void(std::span<const double> x, std::span<double> hessian)>;
// v = hessian^-1 v for a positive definite matrix (overwritten); false if it is not.
using PositiveSolver = std::function<bool(std::vector<double>& hessian, std::vector<double>& v)>;

struct NewtonProblem {
  Objective objective;
  Curvature curvature;
  PositiveSolver solve;    // not called where l1 is given
  std::vector<double> l1;  // weights of |x[i]|, one each; empty: the function is smooth
};

struct NewtonOptions {
  std::int64_t max_iter = 100;
  double gradient_tolerance = 1e-4;  // of max |smallest subgradient|; half the squared Newton decrement is held to it as well
  double rounding = 16 * std::numeric_limits<double>::epsilon();  // relative error of a value: smaller changes decide nothing
  double value_tolerance =
      0;   // done after a step that promised to lower the value by at most this, relative to max(|f|, 1); 0: never
  double step_rounding = 0;  // done once no element of a step is above this part of the largest element of x
};

struct NewtonResult {
  enum class Stop { kConverged, kMaxIter, kSingular, kLineSearch };
  std::vector<double> x;
  std::int64_t iterations = 0;
  Stop stop = Stop::kMaxIter;
  double gradient = 0;   // largest element of the smallest subgradient at x
};

// Minimises objective(x) + sum l1 |x|. Smooth: solves for the step; line search and stopping rules are those of scikit-learn's
// NewtonCholeskySolver. With L1: the step minimises the quadratic model plus the L1 term by coordinate descent, and what belongs
// at 0 is exactly 0. On kSingular and kLineSearch, x is the best point so far. on_iteration(done) may throw to stop. Source: Lee,
// Sun and Saunders, "Proximal Newton-type methods", SIAM J. Optimization 24(3), 2014.
NewtonResult minimize_newton(const NewtonProblem& problem, std::vector<double> x0, const NewtonOptions& options,
                             const std::function<void(std::int64_t)>& on_iteration);

}  // namespace kedge::engine
