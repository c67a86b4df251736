// BayesianRidge: ridge regression whose penalty and noise level are those with the greatest evidence.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/linear/bayesian_model.h"
#include "engine/estimators/linear/evidence.h"

namespace kedge::engine {

struct BayesianRidgeParams : EvidencePriors {
  std::int64_t max_iter = 300;
  double tol = 1e-3;
  std::optional<double> alpha_init, lambda_init;
  bool compute_score = false;
  bool fit_intercept = true;
};

// MacKay's updates of the precisions of noise and coefficients, in the basis of the eigenvectors of the Gram matrix of
// the columns, or of the rows where they are fewer: an iteration costs min(n, d). In double. Errors: kBadData without
// rows or columns, for weights that sum to 0. Source: MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992;
// Tipping 2001.
template <class T>
class BayesianRidge final : public Regressor<T> {
 public:
  explicit BayesianRidge(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  BayesianRidgeParams params_;
  BayesianModel model_;
  double lambda_ = 1;
};

}   // namespace kedge::engine
