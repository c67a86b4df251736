// PCA: the directions in which the data varies most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct PCAParams {
  schema::Value n_components;
  bool whiten = false;
  std::string svd_solver = "auto";
  schema::Value iterated_power = "auto";
  std::int64_t n_oversamples = 10;
  std::string power_iteration_normalizer = "auto";
  std::optional<std::int64_t> random_state;
};

// Solvers as in scikit-learn, chosen by its rule for "auto". covariance_eigh reads X in blocks and holds no centred
// copy; full takes the same way where its error bound holds (see pca_solvers.h), otherwise a singular value
// decomposition of a centred copy; randomized does where that is less work, and else needs a centred copy too. Signs
// make the largest loading of each component positive. Cost: O(n_samples * n_features^2), randomized O(n_samples *
// n_features * n_components). The ratio of a constant input is 0. Errors: kBadData for fewer than 2 rows, or more
// components than min(n_samples, n_features). The candidates of a search that differ in n_components, or in whitening,
// share one spectrum of the covariance matrix, with as many components as any of them wants: equal to that of a
// separate fit except for the rounding of its solver. Source: Halko, Martinsson and Tropp, SIAM Review 53(2), 2011;
// Minka, NIPS 2000 (n_components = "mle").
template <class T>
class PCA final : public Transformer<T> {
 public:
  explicit PCA(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void announce(WorkCache& plan, const std::string& content) const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Solution {
    Spectrum spectrum;
    std::int64_t n_components = 0;
    double total = 0, noise = 0;   // variance of all components, mean variance of those left out
  };
  Spectrum covariance(const Context& ctx, const Samples<T>& X, std::int64_t count) const;
  Solution solve_randomized(const Context& ctx, const Samples<T>& X);
  Solution solve_fully(const Context& ctx, const Samples<T>& X, bool allow_svd);
  // Without a factor for its values; none where one may be needed.
  std::optional<Solution> solve_unscaled(const Context& ctx, const Samples<T>& X);
  std::string solver_for(std::int64_t n, std::int64_t d) const;
  void multiply(double factor);
  void check_components(const std::string& solver, std::int64_t n, std::int64_t d) const;
  std::int64_t kept_components(const std::vector<double>& variance, double total, std::int64_t n, std::int64_t d) const;

  PCAParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_samples_ = 0;
  std::vector<double> mean_, components_;   // components_: n_components x n_features
  std::vector<double> explained_variance_, explained_variance_ratio_, singular_values_;
  double noise_variance_ = 0;
};

}  // namespace kedge::engine
