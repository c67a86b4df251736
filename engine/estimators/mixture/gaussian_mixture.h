// GaussianMixture: rows as draws from several normal distributions.
#pragma once

#include "engine/estimators/mixture/mixture_model.h"

namespace kedge::engine {

struct GaussianMixtureParams : MixtureParams {
  schema::Value weights_init, means_init, precisions_init;
};

// Expectation maximisation from scikit-learn's starts (its draws). Cost of an iteration: n_samples * n_components *
// n_features^2 with full covariances, otherwise n_samples * n_components * n_features. Errors: kBadData for fewer rows
// than components, starts of another shape than the data, and an ill-conditioned covariance, naming its component.
// Source: Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", 1977.
template <class T>
class GaussianMixture final : public MixtureModel<T> {
 public:
  explicit GaussianMixture(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  explicit GaussianMixture(const GaussianMixtureParams& params);
  std::unique_ptr<MixtureRule> rule(const Context& ctx, MatrixView<const double> X, const std::vector<double>& mean,
                                    MixtureRows& rows) override;

  GaussianMixtureParams params_;
};

}   // namespace kedge::engine
