// Limited-memory BFGS: minimises a smooth function from values and gradients, on the host, in double.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace kedge::engine {

struct LbfgsOptions {
  std::int64_t max_iter = 100;
  double gradient_tolerance = 1e-4;   // stop when max |gradient| is at most this
  double value_tolerance = 0;         // stop when the value falls by at most this, relative to max(|f|, 1); 0: never
  double value_rounding =
      16 * std::numeric_limits<double>::epsilon();   // of a value, relative: a line search that ends here has converged
  int memory = 10;                    // pairs of vectors kept
  int max_line_steps = 50;
};

struct LbfgsResult {
  enum class Stop { kGradient, kValue, kMaxIter, kLineSearch };
  std::vector<double> x;
  double value = 0;
  double gradient = 0;   // largest element of the (smallest sub-) gradient at x
  std::int64_t iterations = 0;
  Stop stop = Stop::kMaxIter;
};

// Whether two values are equal up to rounding; false for NaN.
bool is_same_value(double a, double b, double rounding);

// Evaluates the function at x, writes its gradient, returns its value.
using Objective = std::function<double(std::span<const double> x, std::span<double> gradient)>;

// Same steps as SciPy's L-BFGS-B without bounds (version 3.0 of the Fortran code): same first step, line search, skipped updates,
// restart and stopping rules, so that the number of iterations agrees too. A line search that finds no lower value although its
// last trial differs from the start by no more than rounding ends with kValue: the values show no more. on_iteration(done) may
// throw to stop. Cost: O(memory * n) and about one evaluation an iteration. Source: Liu and Nocedal, Math. Programming 45, 1989;
// Zhu, Byrd, Lu and Nocedal, ACM TOMS 23(4), 1997.
LbfgsResult minimize_lbfgs(const Objective& objective, std::vector<double> x0, const LbfgsOptions& options,
                           const std::function<void(std::int64_t)>& on_iteration);

}  // namespace kedge::engine
