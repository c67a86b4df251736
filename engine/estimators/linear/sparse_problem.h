// The least-squares problem of sparse samples: centred and weighted as LinearProblem, but never as a matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {

// The design D = diag(sqrt(w)) (X - 1 mean'), mean 0 without an intercept, as an operator: X stays sparse,
// the mean is carried separately. Everything dense is double. Borrows the samples' table.
template <class T>
class SparseProblem {
 public:
  // As LinearProblem: Y (host) is X.n_rows() x n_targets. Errors: kBadData naming `owner`, as there.
  SparseProblem(const Context& ctx, const char* owner, const Samples<T>& X, std::span<const double> Y,
                std::int64_t n_targets, const std::vector<double>& weights, bool fit_intercept);

  std::int64_t n_rows() const { return rows_.view().rows; }
  std::int64_t n_cols() const { return rows_.view().cols; }
  std::int64_t n_targets() const { return n_targets_; }
  // Target t: centred, and times the square roots of the weights.
  std::vector<double> target(std::int64_t t) const;
  const std::vector<double>& squared_norms() const { return squared_norms_; }         // of the columns of D
  std::vector<double> times(const Context& ctx, const std::vector<double>& v) const;  // D v
  std::vector<double> transpose_times(const Context& ctx, const std::vector<double>& u) const;  // D'u
  // G (m + 1 x m + 1, host): the products of some columns of D and, last, of y with each other.
  std::vector<double> gram(const Context& ctx, const std::vector<std::int32_t>& columns,
                           const std::vector<double>& y) const;
  // The intercept of each target for coefficients (targets x columns).
  std::vector<double> intercepts(std::span<const double> coef) const;

 private:
  void centre_targets(std::span<const double> Y, const std::vector<double>& weights, bool fit_intercept);

  SparseRows<T> rows_;
  CsrMatrix<T> columns_;
  std::int64_t n_targets_;
  std::vector<double> mean_, y_mean_, roots_, targets_,
      squared_norms_;  // roots_: of the weights; empty: 1 each
};

// min |D w - y|^2 + alpha |w|^2 for each target by conjugate gradients on the design itself; with alpha 0 and
// dependent columns the solution of least norm. Continues until the gradient is rounding. alphas: one, or one a
// target. Returns targets x columns. Cost: two products a step; steps grow with the condition. Warns after
// too many. Source: Hestenes and Stiefel 1952 in the form of Björck, "Numerical Methods for Least Squares
// Problems", section 7.4 (CGLS).
template <class T>
std::vector<double> solve_sparse_least_squares(const Context& ctx, const char* owner,
                                               const SparseProblem<T>& problem,
                                               const std::vector<double>& alphas);

}  // namespace kedge::engine
