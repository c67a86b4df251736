// ElasticNet and Lasso: parameters, and one penalty.
#include "engine/estimators/linear/elastic_net.h"

#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/elastic_net_tall.h"
#include "engine/estimators/linear/sparse_problem.h"

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
      "precompute has no meaning: the Gram matrix is used wherever it pays; with more columns than rows, or with very many rows, "
      "n_iter_ counts the passes over working sets.",
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

Array<double> normalised_weights(const Context& ctx, VectorView<const double> weights) {
  Array<double> scaled(ctx.memory(), weights.size);
  if (weights.empty()) return scaled;
  const double sum = weight_sum(ctx, weights);
  const std::vector<double> factor{sum > 0 ? static_cast<double>(weights.size) / sum : 1.0};
  const Array<double> device_factor(ctx.memory(), std::span<const double>(factor));
  ctx.ops<double>().maps->combine(Binary::kMultiply, {weights.data, weights.size, 1}, {device_factor.data(), 1, 1},
                                  {scaled.data(), weights.size, 1});
  return scaled;
}

template <class T>
std::string ElasticNetModel<T>::problem_key(const std::string& content) const {
  return fmt::format("{} {}", content, params_.fit_intercept);
}

template <class T>
std::string ElasticNetModel<T>::path_key(const std::string& content) const {
  return fmt::format("{} {} {} {} {} {} {}", problem_key(content), params_.l1_ratio, params_.tol, params_.max_iter, params_.positive,
                     params_.selection, params_.random_state.value_or(-1));
}

template <class T>
void ElasticNetModel<T>::announce(WorkCache& plan, const std::string& content) const {
  plan.want(path_key(content), params_.alpha);
}

template <class T>
ElasticNetOptions ElasticNetModel<T>::options(const Context& ctx) const {
  return descent_options(ctx, params_.tol, params_.max_iter, params_.positive, params_.selection, params_.random_state);
}

template <class T>
typename ElasticNetModel<T>::Path ElasticNetModel<T>::solved(const LinearProblem<T>& problem, const std::vector<double>& alphas,
                                                             const ElasticNetSolutions& found) const {
  Path path;
  const auto d = static_cast<std::ptrdiff_t>(problem.n_cols());
  for (std::size_t a = 0; a < alphas.size(); ++a) {
    const auto first = found.coef.begin() + static_cast<std::ptrdiff_t>(a) * d;
    const std::vector<double> coef(first, first + d);
    path[alphas[a]] = {coef, problem.intercepts(coef)[0], found.gap[a], found.n_iter[a]};
  }
  return path;
}

template <class T>
typename ElasticNetModel<T>::Path ElasticNetModel<T>::solve_alone(const Context& ctx, const LinearProblem<T>& problem) const {
  return solved(problem, {params_.alpha}, solve_elastic_nets(ctx, problem, {params_.alpha}, params_.l1_ratio, options(ctx)));
}

// On a Gram matrix a start from 0 costs little compared with the matrix, and finds what a separate fit finds (on very
// many rows, within tol).
template <class T>
typename ElasticNetModel<T>::Path ElasticNetModel<T>::solve_shared(const Context& ctx, const LinearProblem<T>& problem,
                                                                   const std::string& content) const {
  if (takes_gram(problem.n_rows(), problem.n_cols(), {params_.alpha}, params_.l1_ratio)) {
    const auto gram = ctx.work->get<TargetGram>("gram", problem_key(content), [&] { return target_gram(ctx, problem); });
    const auto rows = static_cast<double>(problem.n_rows());
    return solved(problem, {params_.alpha}, solve_elastic_nets(ctx, *gram, rows, {params_.alpha}, params_.l1_ratio, options(ctx)));
  }
  const std::set<double>& wanted = ctx.work->wanted(path_key(content));
  if (!wanted.contains(params_.alpha)) return solve_alone(ctx, problem);
  return *ctx.work->get<Path>("elastic net path", path_key(content), [&] {
    std::vector<double> alphas(wanted.rbegin(), wanted.rend());
    std::erase(alphas, 0.0);
    return solved(problem, alphas, solve_elastic_nets(ctx, problem, alphas, params_.l1_ratio, options(ctx)));
  });
}

template <class T>
void ElasticNetModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  if (params_.alpha == 0)
    ctx.warn(std::string(name_) + ": alpha is 0, for which coordinate descent is slow; LinearRegression is better");
  const bool is_shared = ctx.work && !X.content.empty();
  const auto make = [&] {
    return LinearProblem<T>(ctx, name_, densified(ctx, std::string(name_) + " without an L1 penalty", X),
                            y.device_values(ctx), normalised_weights(ctx, y.device_weights(ctx)).view(),
                            params_.fit_intercept);
  };
  if (is_large_sparse(X) && params_.alpha * params_.l1_ratio > 0) {
    const SparseProblem<T> problem(ctx, name_, X, y.values, 1, normalised_weights(y.weights), params_.fit_intercept);
    const ElasticNetSolutions found = solve_elastic_nets(ctx, problem, {params_.alpha}, params_.l1_ratio, options(ctx));
    fit_ = {found.coef, problem.intercepts(found.coef)[0], found.gap[0], found.n_iter[0]};
  } else if (is_shared) {
    const auto problem = ctx.work->get<LinearProblem<T>>("elastic net problem", problem_key(X.content), make);
    fit_ = solve_shared(ctx, *problem, X.content).at(params_.alpha);
  } else if (const ElasticNetPenalty penalty{params_.alpha, params_.l1_ratio};
             !X.is_sparse() && takes_sample(X.n_rows(), X.n_cols(), penalty)) {
    const Array<double> weights = normalised_weights(ctx, y.device_weights(ctx));
    const TallSolution found = solve_tall_elastic_net(ctx, name_, X, y.device_values(ctx), weights.view(),
                                                      params_.fit_intercept, penalty, options(ctx));
    fit_ = {found.coef, found.intercept, found.gap, found.n_iter};
  } else {
    fit_ = solve_alone(ctx, make()).at(params_.alpha);
  }
  if (fit_.n_iter >= params_.max_iter)
    ctx.warn(fmt::format("{}: stopped after max_iter = {} passes with a duality gap of {:.3g}; more may be needed", name_,
                         params_.max_iter, fit_.gap));
}

template <class T>
std::vector<double> ElasticNetModel<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, fit_.coef.size());
  return linear_values(ctx, X, fit_.coef, {&fit_.intercept, 1}).to_host();
}

template <class T>
schema::ValueMap ElasticNetModel<T>::attributes() const {
  return {{"coef_", fit_.coef}, {"intercept_", fit_.intercept}, {"dual_gap_", fit_.gap}, {"n_iter_", fit_.n_iter}};
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

template <class T>
void ElasticNetModel<T>::state(StateArchive& archive) {
  archive.field("coef", fit_.coef, archive.n_features());
  archive.field("intercept", fit_.intercept);
  archive.field("dual_gap", fit_.gap);
  archive.number("n_iter", fit_.n_iter, 0, kMaxSize);
}

template class ElasticNetModel<float>;
template class ElasticNetModel<double>;
template class ElasticNet<float>;
template class ElasticNet<double>;
template class Lasso<float>;
template class Lasso<double>;

}   // namespace kedge::engine
