// BayesianGaussianMixture: a mixture with priors, which leaves components that the data do not need without weight.
#pragma once

#include <optional>
#include <string>

#include "engine/estimators/mixture/mixture_model.h"

namespace kedge::engine {

struct BayesianGaussianMixtureParams : MixtureParams {
  std::string weight_concentration_prior_type = "dirichlet_process";
  std::optional<double> weight_concentration_prior, mean_precision_prior, degrees_of_freedom_prior;
  schema::Value mean_prior, covariance_prior;
};

// What the data and the parameters make of the priors; host. `mean` is that of the columns as they are.
struct MixturePriors {
  double weight_concentration = 1, mean_precision = 1, degrees_of_freedom = 1;
  std::vector<double> mean, covariance;   // d; d x d, d or 1
};

// Variational inference from the starts of GaussianMixture; the cost is the same. Errors: kBadData for priors of
// another shape than the data, and as GaussianMixture. Sources: Bishop, "Pattern Recognition and Machine Learning",
// 2006, section 10.2; Blei and Jordan, "Variational inference for Dirichlet process mixtures", Bayesian Analysis 1,
// 2006.
template <class T>
class BayesianGaussianMixture final : public MixtureModel<T> {
 public:
  explicit BayesianGaussianMixture(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  explicit BayesianGaussianMixture(const BayesianGaussianMixtureParams& params);
  std::unique_ptr<MixtureRule> rule(const Context& ctx, MatrixView<const double> X, const std::vector<double>& mean,
                                    MixtureRows& rows) override;

  BayesianGaussianMixtureParams params_;
  MixturePriors priors_;
};

}   // namespace kedge::engine
