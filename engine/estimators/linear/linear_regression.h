// LinearRegression: ordinary least squares.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {

struct LinearRegressionParams {
  bool fit_intercept = true;
  double tol = 1e-6;
  bool positive = false;
};

// min |sqrt(w) (y - X coef - intercept)|, always in double or better: a Householder QR of the centred columns, scaled by powers
// of two, over tiles of rows; small problems, and ill-conditioned ones of up to about a second, again with 32 digits. Large ones
// whose condition is seen to be below 300 are solved by the eigenvectors of the Gram matrix and refined with the residuals of the
// rows, which restores what squaring the condition lost. Columns that depend on each other are found on the scaled columns, and
// the solution is then the one of least norm. More columns than rows: by singular values. Cost: n_samples n_features^2, or twice
// that; memory: one tile of rows. Errors: kBadData without rows, for weights that sum to 0. Source: Golub and Van Loan, Matrix
// Computations, chapter 5; positive: Lawson and Hanson, Solving Least Squares Problems, chapter 23.
template <class T>
class LinearRegression final : public Regressor<T> {
 public:
  explicit LinearRegression(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void solve(const Context& ctx, const Samples<T>& X, const Target& y);
  bool solve_refined(const Context& ctx, const LinearProblem<T>& problem);
  void solve_tall(const Context& ctx, LinearProblem<T>& problem, const Samples<T>& X, const Target& y);
  void solve_sparse(const Context& ctx, const Samples<T>& X, const Target& y);
  void solve_wide(const Context& ctx, const LinearProblem<T>& problem);
  bool solve_precisely(const Context& ctx, const Samples<T>& X, const Target& y);
  void intercept_from(const LinearProblem<T>& problem);
  double cutoff(std::int64_t n) const;

  LinearRegressionParams params_;
  std::int64_t rank_ = 0;   // -1: not known
  std::vector<double> coef_, singular_;
  double intercept_ = 0;
};

}   // namespace kedge::engine
