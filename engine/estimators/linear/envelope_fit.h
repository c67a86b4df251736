// Minimises sums of losses with corners, hinge, tube and pinball, to a duality gap: the augmented Lagrangian method,
// whose inner problems are smooth and solved by Newton's method.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/estimators/linear/margin_problem.h"
#include "engine/estimators/linear/smooth_solver.h"

namespace kedge::engine {

// w max(high (r - width), low (r + width), 0) of the residual r = y - margin, low <= 0 <= high. Hinge, of signed rows
// with y = 1: 0, 1; tube: -1, 1 and its width; pinball: quantile - 1, quantile.
struct CornerLoss {
  double low = 0, high = 1, width = 0;
};

struct CornerOptions {
  double tol = 1e-9;   // of the duality gap, relative to the value
  std::int64_t max_iter = 1000;
};
struct CornerMinimum {
  std::vector<double> v;
  std::int64_t iterations = 0;   // Newton's, of all inner problems
  double gap = 0, value = 0;     // the value is at most the gap above the minimum
  bool is_converged = false;
};

// Minimises the sum of the loss over the rows plus sum of penalty[j] v[j]^2 / 2. The problem keeps duals afterwards.
// `residual`: a typical size of residuals. At most kMostCurved columns are curved; beyond, L-BFGS. Source: Rockafellar,
// "Augmented Lagrangians and applications of the proximal point algorithm", Math. of Operations Research 1, 1976; Li,
// Sun and Toh, SIAM J. Optimization 28(1), 2018.
template <class T>
CornerMinimum minimize_corners(const Context& ctx, MarginProblem<T>& problem, const CornerLoss& loss,
                               const std::vector<double>& penalty, std::vector<double> start, double residual,
                               const CornerOptions& options);

}   // namespace kedge::engine
