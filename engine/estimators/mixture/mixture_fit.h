// Expectation maximisation: starts, iterations and the best of several runs, for any rule of maximisation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/estimators/mixture/mixture_steps.h"

namespace kedge::engine {

struct MixtureParams {
  std::int64_t n_components = 1, max_iter = 100, n_init = 1;
  std::string covariance_type = "full", init_params = "kmeans";
  double tol = 1e-3, reg_covar = 1e-6;
  std::optional<std::int64_t> random_state;
};

template <class P>
ParamSet<P>& add_mixture_params(ParamSet<P>& set) {
  return set.add("n_components", &P::n_components, between(1, 1 << 20), "Number of components.")
      .add("covariance_type", &P::covariance_type, {"full", "tied", "diag", "spherical"},
           "full: each component has a matrix of its own; tied: all share one; diag: variances of the columns; "
           "spherical: one variance.")
      .add("tol", &P::tol, at_least(0), "The iterations end when the lower bound changes by less.")
      .add("reg_covar", &P::reg_covar, at_least(0), "Added to the diagonal of each covariance.")
      .add("max_iter", &P::max_iter, at_least(0), "Most iterations of a run.")
      .add("n_init", &P::n_init, at_least(1), "Runs from different starts; the best is kept.")
      .add("init_params", &P::init_params, {"kmeans", "k-means++", "random", "random_from_data"},
           "Where shares start: clusters of KMeans, rows chosen by k-means++, random shares, random rows.")
      .random_state(&P::random_state)
      .ignore("warm_start", false, {boolean_form()})
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .ignore("verbose_interval", 10, {integer_form(at_least(1))});
}

// What a maximisation step leaves; host. Means are those of the centred rows.
struct MixtureState {
  std::vector<double> weights, means, covariances, factors;
  // Of a Bayesian mixture alone: the two parameters of the weights (the second with a Dirichlet process alone), the
  // precision of each mean, and the degrees of freedom (one where the covariance is tied).
  std::vector<double> concentration, concentration_rest, mean_precision, degrees_of_freedom;
};

// How a mixture fits its components to the shares.
class MixtureRule {
 public:
  virtual ~MixtureRule() = default;
  // The state that such moments give. `n_rows` is not null for the first step of a run: then given starts count, and
  // weights are shares of these rows.
  virtual MixtureState maximise(const MixtureMoments& moments, std::optional<std::int64_t> n_rows) const = 0;
  // What is added to the log density of each component.
  virtual std::vector<double> log_weights(const MixtureState& state) const = 0;
  virtual double lower_bound(const MixtureState& state, const MixtureLikelihood& likelihood) const = 0;
  // Whether nothing has to be read from the rows to start.
  virtual bool has_all_starts() const { return false; }
};

struct FittedMixture {
  MixtureState state;
  std::vector<double> lower_bounds;   // by iteration of the best run
  double lower_bound = 0;
  std::int64_t n_iter = 0;
  bool has_converged = false;
};

MixtureComponents components_of(const MixtureRule& rule, const MixtureState& state, const MixtureParams& params,
                                std::int64_t d);

// Fits n_init times and keeps the run of the largest lower bound. X: rows less `mean`, device. Errors: kBadData for an
// ill-conditioned covariance, or where densities leave double.
FittedMixture fit_mixture(const Context& ctx, const char* owner, const MixtureParams& params, const MixtureRule& rule,
                          MatrixView<const double> X, const std::vector<double>& mean, MixtureRows& rows);

}   // namespace kedge::engine
