// ElasticNet and Lasso: parameters, and one penalty.
#include "engine/estimators/elastic_net.h"

#include <numeric>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = ElasticNetParams;

ParamSet<P> make_params(const char* name, bool with_ratio) {
  ParamSet<P> set(name);
  set.add("alpha", &P::alpha, at_least(0), "Strength of the penalty.");
  if (with_ratio) set.add("l1_ratio", &P::l1_ratio, between(0, 1), "Share of the L1 penalty; the rest is L2.");
  set.add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
      .ignore("precompute", false, {boolean_form(), array_form()})
      .ignore("copy_X", true, {boolean_form()})
      .add("max_iter", &P::max_iter, at_least(1), "Largest number of passes over the coordinates.")
      .add("tol", &P::tol, at_least(0), "Stop when the duality gap is at most this part of the target's sum of squares.")
      .ignore("warm_start", false, {boolean_form()})
      .add("positive", &P::positive, "Coefficients of at least 0.")
      .random_state(&P::random_state)
      .add("selection", &P::selection, {"cyclic", "random"}, "Coordinates in order, or drawn.");
  return set;
}
const ParamSet<P>& elastic_net_params() {
  static const ParamSet<P> set = make_params("ElasticNet", true);
  return set;
}
const ParamSet<P>& lasso_params() {
  static const ParamSet<P> set = make_params("Lasso", false);
  return set;
}
P with_ratio_one(P params) {
  params.l1_ratio = 1;
  return params;
}

schema::EstimatorInfo info_of(const char* name, const char* doc, const ParamSet<P>& params) {
  return {.name = name,
          .kind = "regressor",
          .family = "linear_model",
          .doc = doc,
          .params = params.infos(),
          .attributes = {"coef_", "intercept_", "dual_gap_", "n_iter_"},
          .deviations = elastic_net_deviations()};
}

}   // namespace

std::vector<std::string> elastic_net_deviations() {
  return {
      "precompute has no meaning: the Gram matrix is used wherever it pays; with more columns than rows, n_iter_ counts the "
      "passes over working sets.",
      "selection \"random\" draws from Philox, not from numpy's generator.", "float32 input is solved in double."};
}

ElasticNetOptions descent_options(const Context& ctx, double tol, std::int64_t max_iter, bool positive,
                                  const std::string& selection, const std::optional<std::int64_t>& random_state) {
  return {.tol = tol,
          .max_iter = max_iter,
          .positive = positive,
          .random = selection == "random",
          .seed = random_state ? static_cast<std::uint64_t>(*random_state) : ctx.seed};
}

std::vector<double> normalised_weights(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0), n = static_cast<double>(weights.size());
  if (sum > 0)
    for (double& w : weights) w *= n / sum;
  return weights;
}

template <class T>
void ElasticNetModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  if (params_.alpha == 0)
    ctx.warn(std::string(name_) + ": alpha is 0, for which coordinate descent is slow; LinearRegression is better");
  const auto solve = [&](const auto& problem) {
    const ElasticNetSolutions solved = solve_elastic_nets(
        ctx, problem, {params_.alpha}, params_.l1_ratio,
        descent_options(ctx, params_.tol, params_.max_iter, params_.positive, params_.selection, params_.random_state));
    coef_ = solved.coef, dual_gap_ = solved.gap[0], n_iter_ = solved.n_iter[0];
    intercept_ = problem.intercepts(coef_)[0];
  };
  const std::vector<double> weights = normalised_weights(y.weights);
  if (is_large_sparse(X) && params_.alpha * params_.l1_ratio > 0)
    solve(SparseProblem<T>(ctx, name_, X, y.values, 1, weights, params_.fit_intercept));
  else
    solve(LinearProblem<T>(ctx, name_, densified(ctx, std::string(name_) + " without an L1 penalty", X), y.values, 1, weights,
                           params_.fit_intercept));
  if (n_iter_ >= params_.max_iter)
    ctx.warn(fmt::format("{}: stopped after max_iter = {} passes with a duality gap of {:.3g}; more may be needed", name_,
                         params_.max_iter, dual_gap_));
}

template <class T>
std::vector<double> ElasticNetModel<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap ElasticNetModel<T>::attributes() const {
  return {{"coef_", coef_}, {"intercept_", intercept_}, {"dual_gap_", dual_gap_}, {"n_iter_", n_iter_}};
}

template <class T>
ElasticNet<T>::ElasticNet(const schema::ValueMap& params)
    : ElasticNetModel<T>("ElasticNet", elastic_net_params().parse(params)) {}
template <class T>
schema::EstimatorInfo ElasticNet<T>::info() {
  return info_of("ElasticNet", "Least squares with L1 and L2 penalties.", elastic_net_params());
}

template <class T>
Lasso<T>::Lasso(const schema::ValueMap& params) : ElasticNetModel<T>("Lasso", with_ratio_one(lasso_params().parse(params))) {}
template <class T>
schema::EstimatorInfo Lasso<T>::info() {
  return info_of("Lasso", "Least squares with an L1 penalty.", lasso_params());
}

template class ElasticNetModel<float>;
template class ElasticNetModel<double>;
template class ElasticNet<float>;
template class ElasticNet<double>;
template class Lasso<float>;
template class Lasso<double>;

}   // namespace kedge::engine
