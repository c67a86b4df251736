// Errors of each row of a ridge regression under the model of all others, for several penalties.
#pragma once

#include <vector>

#include "engine/estimators/linear/ridge_solver.h"

namespace kedge::engine {

// Times the root of the row's weight: n_rows x (targets x alphas), on the device. From one eigendecomposition of the
// Gram matrix of the columns, or of the rows where they are fewer. `weights` (host) as the problem has them. Cost: n d
// min(n, d), and n min(n, d) for each alpha and target. Source: Rifkin and Lippert, "Notes on regularized least
// squares", 2007.
template <class T>
Matrix<double> left_out_errors(const Context& ctx, RidgeProblem<T>& problem, const std::vector<double>& alphas,
                               bool fit_intercept, const std::vector<double>& weights);

// Minus the mean square of these errors, over rows and targets, for each alpha.
std::vector<double> left_out_scores_of_squares(const Context& ctx, Matrix<double> errors, std::int64_t n_targets);

}   // namespace kedge::engine
