// BayesianRidge: the eigenbasis, and the updates in it.
#include "engine/estimators/linear/bayesian_ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/evidence.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = BayesianRidgeParams;
using Vector = std::vector<double>;
constexpr const char* kName = "BayesianRidge";
constexpr double kEps = std::numeric_limits<double>::epsilon();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("max_iter", &P::max_iter, at_least(1), "Largest number of iterations.")
          .add("tol", &P::tol, above(0), "Stop when the coefficients change by less, in sum.")
          .add("alpha_1", &P::alpha_1, at_least(0), "Shape of the gamma distribution of the noise's precision.")
          .add("alpha_2", &P::alpha_2, at_least(0), "Rate of that distribution.")
          .add("lambda_1", &P::lambda_1, at_least(0), "Shape of the gamma distribution of the coefficients' precision.")
          .add("lambda_2", &P::lambda_2, at_least(0), "Rate of that distribution.")
          .add("alpha_init", &P::alpha_init, at_least(0),
               "The noise's precision at the start; null: 1 / variance of the target.")
          .add("lambda_init", &P::lambda_init, at_least(0), "The coefficients' precision at the start; null: 1.")
          .add("compute_score", &P::compute_score, "Give the log marginal likelihood of each iteration.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which has no prior.")
          .ignore("copy_X", true, {boolean_form()})
          .ignore("verbose", false, {integer_form(at_least(0)), boolean_form()});
  return set;
}

// With the v_k: rows, 0 where s_k is.
struct Basis : EvidenceBasis {
  Matrix<double> vectors;
};

template <class T>
Basis tall_basis(const Context& ctx, const LinearProblem<T>& problem) {
  const std::int64_t d = problem.n_cols();
  const auto n = static_cast<std::size_t>(d);
  const Vector gram = problem.gram(ctx).to_host();
  Basis basis;
  basis.vectors = Matrix<double>(ctx.memory(), d, d, leading_square(gram, d + 1, d));
  Array<double> lambda(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(basis.vectors.view(), lambda.view());
  const Vector V = basis.vectors.to_host();
  basis.squares = lambda.to_host();
  Vector solution(n, 0.0);   // of least squares
  drop_rounding(basis.squares);
  for (std::size_t k = 0; k < n; ++k) {
    double product = 0;
    for (std::size_t j = 0; j < n; ++j) product += V[k * n + j] * gram[n * (n + 1) + j];
    const double square = basis.squares[k];
    basis.along.push_back(square > 0 ? product / std::sqrt(square) : 0.0);
    for (std::size_t j = 0; square > 0 && j < n; ++j) solution[j] += product / square * V[k * n + j];
  }
  basis.rest = problem.residual_squares(ctx, solution);
  return basis;
}

template <class T>
Basis wide_basis(const Context& ctx, const LinearProblem<T>& problem) {
  const std::int64_t n = problem.n_rows();
  const Matrix<double> rows = problem.rows(ctx), y = problem.weighted_targets(ctx, 1);
  Matrix<double> U(ctx.memory(), n, n), along(ctx.memory(), n, 1);
  Array<double> lambda(ctx.memory(), n);
  LinearOps<double>& linear = *ctx.ops<double>().linear;
  linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, rows.view(), rows.view(), 0.0, U.view());
  ctx.ops<double>().factorise->eigh(U.view(), lambda.view());
  linear.gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(U).view(), y.view(), 0.0, along.view());
  Basis basis;
  basis.squares = lambda.to_host(), basis.along = along.to_host();
  drop_rounding(basis.squares);
  Vector inverse;
  for (const double square : basis.squares) inverse.push_back(square > 0 ? 1 / std::sqrt(square) : 0.0);
  basis.vectors = Matrix<double>(ctx.memory(), n, problem.n_cols());
  linear.gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(U).view(), rows.view(), 0.0, basis.vectors.view());
  ctx.ops<double>().maps->combine(Binary::kMultiply, std::as_const(basis.vectors).view(),
                                  Matrix<double>(ctx.memory(), n, 1, inverse).view(), basis.vectors.view());
  return basis;
}

// sum_k along[k] v_k.
Vector combined(const Context& ctx, const Basis& basis, const Vector& along) {
  const Matrix<double> f(ctx.memory(), 1, static_cast<std::int64_t>(along.size()), along);
  Matrix<double> sum(ctx.memory(), 1, basis.vectors.cols());
  ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, f.view(), basis.vectors.view(), 0.0, sum.view());
  return sum.to_host();
}

// I / lambda - sum_k (1 / lambda - 1 / (alpha s_k^2 + lambda)) v_k v_k'.
Vector covariance(const Context& ctx, const Basis& basis, const Evidence& found) {
  const std::int64_t r = basis.vectors.rows(), d = basis.vectors.cols();
  Vector roots;
  for (const double square : basis.squares)
    roots.push_back(std::sqrt(found.alpha * square / (found.lambda * (found.alpha * square + found.lambda))));
  Matrix<double> V(ctx.memory(), r, d), sigma(ctx.memory(), d, d);
  ctx.ops<double>().maps->combine(Binary::kMultiply, basis.vectors.view(),
                                  Matrix<double>(ctx.memory(), r, 1, roots).view(), V.view());
  ctx.ops<double>().linear->gram(-1.0, std::as_const(V).view(), sigma.view());
  Vector host = sigma.to_host();
  for (std::size_t j = 0; j < static_cast<std::size_t>(d); ++j)
    host[j * static_cast<std::size_t>(d + 1)] += 1 / found.lambda;
  return host;
}

}   // namespace

template <class T>
BayesianRidge<T>::BayesianRidge(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo BayesianRidge<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Ridge regression with the penalty and the noise level of the greatest evidence.",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "alpha_", "lambda_", "sigma_", "scores_", "n_iter_", "X_offset_",
                         "X_scale_"},
          .deviations = {"float32 input is solved in double.", "sigma_ is given for up to 512 columns.",
                         "predict gives the mean alone (no return_std)."}};
}

template <class T>
void BayesianRidge<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const LinearProblem<T> problem(ctx, kName, X, y, params_.fit_intercept);
  const Basis basis = problem.n_rows() < problem.n_cols() ? wide_basis(ctx, problem) : tall_basis(ctx, problem);
  Evidence found;
  found.rows = y.weights.empty() ? static_cast<double>(problem.n_rows())
                                 : std::accumulate(y.weights.begin(), y.weights.end(), 0.0);
  found.alpha = params_.alpha_init.value_or(1 / (target_variance(y) + kEps));
  found.lambda = params_.lambda_init.value_or(1.0);
  Vector before;
  model_.scores.clear(), model_.n_iter = 0;
  while (model_.n_iter < params_.max_iter) {
    ctx.check_stop();
    found.solve(basis);
    if (params_.compute_score) model_.scores.push_back(found.score(basis, params_, problem.n_cols()));
    const Evidence at = found;
    found.update(basis, params_);
    ++model_.n_iter;
    model_.coef = combined(ctx, basis, at.along);
    if (model_.n_iter > 1 && total_change(before, model_.coef) < params_.tol) break;
    before = model_.coef;
  }
  found.solve(basis);
  if (params_.compute_score) model_.scores.push_back(found.score(basis, params_, problem.n_cols()));
  model_.coef = combined(ctx, basis, found.along);
  model_.sigma = problem.n_cols() <= kMostCovariances ? covariance(ctx, basis, found) : Vector();
  model_.alpha = found.alpha, lambda_ = found.lambda, model_.mean = problem.mean(),
  model_.intercept = problem.intercepts(model_.coef)[0];
}

template <class T>
std::vector<double> BayesianRidge<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return model_.predict(kName, ctx, X);
}

template <class T>
schema::ValueMap BayesianRidge<T>::attributes() const {
  return model_.attributes(lambda_, static_cast<std::int64_t>(model_.coef.size()), !model_.sigma.empty());
}

template <class T>
void BayesianRidge<T>::state(StateArchive& archive) {
  archive.field("coef", model_.coef, archive.n_features());
  archive.field("mean", model_.mean, archive.n_features());
  archive.field("sigma", model_.sigma, kAnySize, archive.n_features());
  archive.field("scores", model_.scores, kAnySize);
  archive.field("intercept", model_.intercept);
  archive.field("alpha", model_.alpha);
  archive.field("lambda", lambda_);
  archive.number("n_iter", model_.n_iter, 0, kMaxSize);
}

template class BayesianRidge<float>;
template class BayesianRidge<double>;

}   // namespace kedge::engine
