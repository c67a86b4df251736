// ARDRegression: the posterior of the kept coefficients, from the Gram matrix of columns or from products of few rows.
#include "engine/estimators/linear/ard_regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = ArdParams;
using Vector = std::vector<double>;
using Columns = std::vector<std::size_t>;
constexpr const char* kName = "ARDRegression";
constexpr double kEps = std::numeric_limits<double>::epsilon();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("max_iter", &P::max_iter, at_least(1), "Largest number of iterations.")
          .add("tol", &P::tol, at_least(0), "Stop when the coefficients change by less, in sum.")
          .add("alpha_1", &P::alpha_1, at_least(0), "Shape of the gamma distribution of the noise's precision.")
          .add("alpha_2", &P::alpha_2, at_least(0), "Rate of that distribution.")
          .add("lambda_1", &P::lambda_1, at_least(0),
               "Shape of the gamma distribution of the coefficients' precisions.")
          .add("lambda_2", &P::lambda_2, at_least(0), "Rate of that distribution.")
          .add("compute_score", &P::compute_score, "Give the objective after each iteration.")
          .add("threshold_lambda", &P::threshold_lambda, at_least(0), "Coefficients of a greater precision become 0.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which has no prior.")
          .ignore("copy_X", true, {boolean_form()})
          .ignore("verbose", false, {integer_form(at_least(0)), boolean_form()});
  return set;
}

// The covariance of some coefficients, (diag(lambda) + alpha X'X)^-1, and what follows from it.
struct Posterior {
  Vector sigma;         // k x k
  double log_det = 0;   // of sigma; only on request
};

template <class T>
class Relevance {
 public:
  Relevance(const Context& ctx, const LinearProblem<T>& problem)
      : ctx_(ctx), d_(static_cast<std::size_t>(problem.n_cols())) {
    gram_ = problem.gram(ctx).to_host();
    if (problem.n_rows() < problem.n_cols()) rows_ = problem.rows(ctx);
    least_squares(problem);
  }

  // |y - X w|^2: that of the least squares solution, and what w adds to it; itself where rows are few, which can be met
  // exactly.
  double residual(const LinearProblem<T>& problem, const Vector& w) const {
    if (rows_.rows() > 0) return problem.residual_squares(ctx_, w);
    double added = 0;
    for (std::size_t i = 0; i < d_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < d_; ++j) sum += gram_[i * (d_ + 1) + j] * (w[j] - best_[j]);
      added += sum * (w[i] - best_[i]);
    }
    return rest_ + std::max(added, 0.0);
  }
  double with_target(std::size_t j) const { return gram_[d_ * (d_ + 1) + j]; }

  Posterior posterior(const Columns& kept, const Vector& lambda, double alpha, bool wants_det) const {
    const bool by_rows = rows_.rows() > 0 && static_cast<std::size_t>(rows_.rows()) < kept.size();
    return by_rows && !wants_det ? of_rows(kept, lambda, alpha) : of_columns(kept, lambda, alpha, wants_det);
  }

 private:
  void least_squares(const LinearProblem<T>& problem) {
    const auto d = static_cast<std::int64_t>(d_);
    Matrix<double> vectors(ctx_.memory(), d, d, leading_square(gram_, d + 1, d));
    Array<double> values(ctx_.memory(), d);
    ctx_.ops<double>().factorise->eigh(vectors.view(), values.view());
    const Vector V = vectors.to_host(), squares = values.to_host();
    best_.assign(d_, 0.0);
    for (std::size_t k = 0; k < d_; ++k) {
      if (!(squares[k] > static_cast<double>(d) * kEps * squares.back())) continue;
      double product = 0;
      for (std::size_t j = 0; j < d_; ++j) product += V[k * d_ + j] * with_target(j);
      for (std::size_t j = 0; j < d_; ++j) best_[j] += product / squares[k] * V[k * d_ + j];
    }
    rest_ = problem.residual_squares(ctx_, best_);
  }

  Posterior of_columns(const Columns& kept, const Vector& lambda, double alpha, bool wants_det) const {
    const auto k = static_cast<std::int64_t>(kept.size());
    Vector inverse;
    inverse.reserve(kept.size() * kept.size());
    for (const std::size_t i : kept)
      for (const std::size_t j : kept) inverse.push_back(alpha * gram_[i * (d_ + 1) + j] + (i == j ? lambda[i] : 0.0));
    Vector identity(inverse.size(), 0.0);
    for (std::size_t i = 0; i < kept.size(); ++i) identity[i * (kept.size() + 1)] = 1;
    Matrix<double> A(ctx_.memory(), k, k, inverse), B(ctx_.memory(), k, k, identity);
    if (!wants_det && ctx_.ops<double>().factorise->solve_positive(A.view(), B.view())) return {B.to_host(), 0};
    return by_eigenvalues(inverse, k);
  }

  // Also where the matrix is not positive definite through rounding: scikit-learn's pinvh.
  Posterior by_eigenvalues(const Vector& inverse, std::int64_t k) const {
    Matrix<double> V(ctx_.memory(), k, k, inverse), sigma(ctx_.memory(), k, k);
    Array<double> values(ctx_.memory(), k);
    ctx_.ops<double>().factorise->eigh(V.view(), values.view());
    const Vector squares = values.to_host();
    Posterior found;
    Vector roots;
    for (const double square : squares) {
      const bool counts = square > static_cast<double>(k) * kEps * squares.back();
      roots.push_back(counts ? 1 / std::sqrt(square) : 0.0);
      if (counts) found.log_det -= std::log(square);
    }
    ctx_.ops<double>().maps->combine(Binary::kMultiply, std::as_const(V).view(),
                                     Matrix<double>(ctx_.memory(), k, 1, roots).view(), V.view());
    ctx_.ops<double>().linear->gram(1.0, std::as_const(V).view(), sigma.view());
    found.sigma = sigma.to_host();
    return found;
  }

  // Woodbury: L^-1 - L^-1 X' (I / alpha + X L^-1 X')^-1 X L^-1, L = diag(lambda).
  Posterior of_rows(const Columns& kept, const Vector& lambda, double alpha) const {
    const auto k = static_cast<std::int64_t>(kept.size()), n = rows_.rows();
    std::vector<std::int32_t> columns(kept.begin(), kept.end());
    Vector roots;
    for (const std::size_t j : kept) roots.push_back(1 / std::sqrt(lambda[j]));
    Backend<double>& ops = ctx_.ops<double>();
    Matrix<double> Z(ctx_.memory(), n, k), M(ctx_.memory(), n, n), B(ctx_.memory(), n, k), sigma(ctx_.memory(), k, k);
    ops.categories->take_columns(
        rows_.view(), {}, Array<std::int32_t>(ctx_.memory(), std::span<const std::int32_t>(columns)).view(), Z.view());
    ops.maps->combine(Binary::kMultiply, std::as_const(Z).view(), Matrix<double>(ctx_.memory(), 1, k, roots).view(),
                      Z.view());
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, std::as_const(Z).view(), std::as_const(Z).view(), 0.0,
                     M.view());
    Vector host = M.to_host();
    for (std::int64_t i = 0; i < n; ++i) host[static_cast<std::size_t>(i * (n + 1))] += 1 / alpha;
    M = Matrix<double>(ctx_.memory(), n, n, host);
    ctx_.memory().copy(B.data(), Z.data(), static_cast<std::size_t>(n * k) * sizeof(double));
    if (!ops.factorise->solve_positive(M.view(), B.view())) return of_columns(kept, lambda, alpha, false);
    ops.linear->gemm(Transpose::kYes, Transpose::kNo, -1.0, std::as_const(Z).view(), std::as_const(B).view(), 0.0,
                     sigma.view());
    Posterior found{sigma.to_host(), 0};
    for (std::size_t i = 0; i < kept.size(); ++i) {
      found.sigma[i * (kept.size() + 1)] += 1;
      for (std::size_t j = 0; j < kept.size(); ++j) found.sigma[i * kept.size() + j] *= roots[i] * roots[j];
    }
    return found;
  }

  const Context& ctx_;
  std::size_t d_;
  Vector gram_, best_;   // gram_: with the target as last column
  double rest_ = 0;
  Matrix<double> rows_;   // where they are fewer than columns
};

Columns below(const Vector& lambda, double threshold) {
  Columns kept;
  for (std::size_t j = 0; j < lambda.size(); ++j)
    if (lambda[j] < threshold) kept.push_back(j);
  return kept;
}

}   // namespace

template <class T>
ARDRegression<T>::ARDRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo ARDRegression<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Bayesian regression with a precision for each coefficient (automatic relevance determination).",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "alpha_", "lambda_", "sigma_", "scores_", "n_iter_", "X_offset_",
                         "X_scale_"},
          .deviations = {"float32 input is solved in double.", "sigma_ is given for up to 512 columns that are left.",
                         "predict gives the mean alone (no return_std)."}};
}

template <class T>
void ARDRegression<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X, 2);
  const LinearProblem<T> problem(ctx, kName, X, y.device_values(ctx), {}, params_.fit_intercept);
  const Relevance<T> relevance(ctx, problem);
  const auto d = static_cast<std::size_t>(problem.n_cols());
  const double n = static_cast<double>(problem.n_rows());
  model_.alpha = 1 / (target_variance(y) + kEps), lambda_.assign(d, 1.0), model_.coef.assign(d, 0.0);
  model_.scores.clear(), model_.n_iter = 0;
  Columns kept = below(lambda_, std::numeric_limits<double>::infinity());
  Vector before;
  const auto set_coef = [&](const Posterior& posterior) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < kept.size(); ++j)
        sum += posterior.sigma[i * kept.size() + j] * relevance.with_target(kept[j]);
      model_.coef[kept[i]] = model_.alpha * sum;
    }
  };
  while (model_.n_iter < params_.max_iter && !kept.empty()) {
    ctx.check_stop();
    const Posterior posterior = relevance.posterior(kept, lambda_, model_.alpha, params_.compute_score);
    set_coef(posterior);
    const double residual = relevance.residual(problem, model_.coef);
    double used = 0;   // degrees of freedom
    for (std::size_t i = 0; i < kept.size(); ++i) {
      double& lambda = lambda_[kept[i]];
      const double own = 1 - lambda * posterior.sigma[i * (kept.size() + 1)], coef = model_.coef[kept[i]];
      used += own, lambda = (own + 2 * params_.lambda_1) / (coef * coef + 2 * params_.lambda_2);
    }
    model_.alpha = (n - used + 2 * params_.alpha_1) / (residual + 2 * params_.alpha_2);
    kept = below(lambda_, params_.threshold_lambda);
    for (std::size_t j = 0; j < d; ++j)
      if (!(lambda_[j] < params_.threshold_lambda)) model_.coef[j] = 0;
    if (params_.compute_score) model_.scores.push_back(score(posterior.log_det, residual, n));
    ++model_.n_iter;
    ctx.progress("iterations", model_.n_iter, params_.max_iter, "iterations");
    if (model_.n_iter > 1 && total_change(before, model_.coef) < params_.tol) break;
    before = model_.coef;
  }
  model_.sigma.clear(), n_kept_ = static_cast<std::int64_t>(kept.size());
  if (!kept.empty()) {
    Posterior posterior = relevance.posterior(kept, lambda_, model_.alpha, false);
    set_coef(posterior);
    if (n_kept_ <= kMostCovariances) model_.sigma = std::move(posterior.sigma);
  }
  model_.mean = problem.mean(), model_.intercept = problem.intercepts(model_.coef)[0];
}

template <class T>
double ARDRegression<T>::score(double log_det, double residual, double n) const {
  double score = params_.alpha_1 * std::log(model_.alpha) - params_.alpha_2 * model_.alpha +
                 0.5 * (log_det + n * std::log(model_.alpha) - model_.alpha * residual);
  for (std::size_t j = 0; j < lambda_.size(); ++j)
    score += params_.lambda_1 * std::log(lambda_[j]) - params_.lambda_2 * lambda_[j] +
             0.5 * (std::log(lambda_[j]) - lambda_[j] * model_.coef[j] * model_.coef[j]);
  return score;
}

template <class T>
std::vector<double> ARDRegression<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return model_.predict(kName, ctx, X);
}

template <class T>
schema::ValueMap ARDRegression<T>::attributes() const {
  return model_.attributes(lambda_, n_kept_, n_kept_ <= kMostCovariances);
}

template <class T>
void ARDRegression<T>::state(StateArchive& archive) {
  archive.field("coef", model_.coef, archive.n_features());
  archive.field("lambda", lambda_, archive.n_features());
  archive.field("mean", model_.mean, archive.n_features());
  archive.number("n_kept", n_kept_, 0, archive.n_features());
  archive.field("sigma", model_.sigma, n_kept_ <= kMostCovariances ? n_kept_ : 0, n_kept_);
  archive.field("scores", model_.scores, kAnySize);
  archive.field("intercept", model_.intercept);
  archive.field("alpha", model_.alpha);
  archive.number("n_iter", model_.n_iter, 0, kMaxSize);
}

template class ARDRegression<float>;
template class ARDRegression<double>;

}   // namespace kedge::engine
