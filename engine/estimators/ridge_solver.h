// The ridge solution of one or several targets: what Ridge and RidgeClassifier share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/linear_problem.h"

namespace kedge::engine {

// What both estimators take.
struct RidgeOptions {
  schema::Value alpha = 1.0;
  bool fit_intercept = true;
  std::string solver = "auto";
  bool positive = false;
};

struct RidgeSolution {
  std::vector<double> coef, intercept;   // targets x columns; targets
  std::string solver;                    // that found it: "cholesky", "svd", or "lbfgs" for positive coefficients
};

// The penalties of `options` as a list. Errors: as check_param, for a list that is empty or has negative numbers; for solver and
// positive that scikit-learn does not combine.
std::vector<double> check_ridge_options(std::string_view owner, const RidgeOptions& options);

// min |sqrt(w) (y - X coef - intercept)|^2 + alpha |coef|^2 for each target; `alphas` has one value, or one a target. By
// Cholesky's decomposition of the Gram matrix of the columns, or of the rows where they are fewer; by singular values where that
// fails or is asked for. Positive coefficients: exactly, by an active set. Cost: n d min(n, d). Errors: kBadData for a wrong
// number of alphas.
template <class T>
RidgeSolution solve_ridge(const Context& ctx, std::string_view owner, const LinearProblem<T>& problem,
                          const std::vector<double>& alphas, const RidgeOptions& options);

// The same for samples, dense or sparse. Sparse ones of more than kFewCells cells stay sparse, unless `positive` needs them dense, and are
// solved by conjugate gradients: "sparse_cg".
template <class T>
RidgeSolution fit_ridge(const Context& ctx, const char* owner, const Samples<T>& X, std::span<const double> Y, std::int64_t n_targets,
                        const std::vector<double>& weights, const std::vector<double>& alphas, const RidgeOptions& options);

}   // namespace kedge::engine
