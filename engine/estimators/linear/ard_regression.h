// ARDRegression: Bayesian regression with a precision for each coefficient, so that what is not needed becomes 0.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/linear/bayesian_model.h"

namespace kedge::engine {

struct ArdParams {
  std::int64_t max_iter = 300;
  double tol = 1e-3;
  double alpha_1 = 1e-6, alpha_2 = 1e-6, lambda_1 = 1e-6, lambda_2 = 1e-6;
  bool compute_score = false;
  double threshold_lambda = 1e4;
  bool fit_intercept = true;
};

// Automatic relevance determination on one Gram matrix: an iteration costs k^3 for the k columns that are left, or n^2
// k where rows are fewer. In double. Errors: kBadData for fewer than two rows or no columns. Source: MacKay, "Bayesian
// nonlinear modeling for the prediction competition", 1994; Tipping 2001.
template <class T>
class ARDRegression final : public Regressor<T> {
 public:
  explicit ARDRegression(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  double score(double log_det, double residual, double n) const;   // after an update

  ArdParams params_;
  BayesianModel model_;
  std::vector<double> lambda_;   // of each coefficient
  std::int64_t n_kept_ = 0;      // coefficients that have a covariance; the others are 0
};

}   // namespace kedge::engine
