// Orthant-wise limited-memory quasi-Newton: minimises a smooth function plus weighted absolute values, on the host, in double.
#pragma once

#include "engine/estimators/optimizers/lbfgs.h"

namespace kedge::engine {

// Minimises objective(x) + sum_i l1[i] |x[i]|; l1 has the size of x and is not negative. Coordinates that belong at 0 are exactly
// 0. options.gradient_tolerance bounds the smallest subgradient. on_iteration(done) may throw to stop. Cost: as minimize_lbfgs().
// Source: Andrew and Gao, "Scalable training of L1-regularized log-linear models", ICML 2007.
LbfgsResult minimize_owlqn(const Objective& objective, const std::vector<double>& l1, std::vector<double> x0,
                           const LbfgsOptions& options, const std::function<void(std::int64_t)>& on_iteration);

// Sum of l1[i] |x[i]|.
double l1_norm(const std::vector<double>& l1, const std::vector<double>& x);
// The smallest subgradient of f(x) + sum l1 |x|, given the gradient of f.
std::vector<double> smallest_subgradient(const std::vector<double>& l1, const std::vector<double>& x,
                                         const std::vector<double>& gradient);

}  // namespace kedge::engine
