// FactorAnalysis: expectation maximisation on the covariance matrix.
#include "engine/estimators/decomposition/factor_analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/mixture/small_cholesky.h"

namespace kedge::engine {
namespace {

using P = FactorAnalysisParams;
using Numbers = std::vector<double>;   // a matrix, row-major
constexpr const char* kName = "FactorAnalysis";
constexpr double kSmall = 1e-12;   // least noise of a column, as in scikit-learn
constexpr int kRotations = 100;    // most steps of a rotation
constexpr double kRotationTolerance = 1e-6;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, at_least(1), "Factors; null for as many as columns.")
          .add("tol", &P::tol, at_least(0), "The iterations end when the log likelihood grows by less.")
          .ignore("copy", true, {boolean_form()})
          .add("max_iter", &P::max_iter, at_least(1), "Most iterations.")
          .any("noise_variance_init", &P::noise_variance_init, {array_form(), null_form()},
               "Noise of each column to start from; null for 1.")
          .add("svd_method", &P::svd_method, {"lapack", "randomized"},
               "Both are exact here: the eigenvectors of the covariance matrix.")
          .ignore("iterated_power", 3, {integer_form(at_least(0))})
          .any("rotation", &P::rotation, {string_form({"varimax", "quartimax"}), null_form()},
               "How the factors are turned at the end.")
          .ignore("random_state", 0, {integer_form(between(0, 4294967295.0)), null_form()});
  return set;
}

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// A (m x n) times B (n x p), or its transpose times B; host.
Numbers product(const Numbers& A, std::int64_t n, const Numbers& B, std::int64_t p, bool transpose) {
  const std::int64_t rows = static_cast<std::int64_t>(A.size()) / n;   // of A as it lies
  Numbers out(at((transpose ? n : rows) * p), 0.0);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < n; ++k) {
      const double a = A[at(i * n + k)];
      const double* const from = B.data() + (transpose ? i : k) * p;
      double* const to = out.data() + (transpose ? k : i) * p;
      for (std::int64_t j = 0; j < p; ++j) to[j] += a * from[j];
    }
  return out;
}

// The rotation of loadings (d x k) that makes the variance of their squares largest, column by column (varimax) or in
// all (quartimax); k x k.
Numbers rotation(const Context& ctx, const Numbers& loadings, std::int64_t d, std::int64_t k, bool is_varimax) {
  Numbers R(at(k * k), 0.0);
  for (std::int64_t i = 0; i < k; ++i) R[at(i * (k + 1))] = 1;
  double before = 0;
  for (int step = 0; step < kRotations; ++step) {
    ctx.check_stop();
    const Numbers turned = product(loadings, k, R, k, false);
    Numbers cubes = turned, sums(at(k), 0.0);
    for (std::int64_t e = 0; e < d * k; ++e) sums[at(e % k)] += turned[at(e)] * turned[at(e)] / static_cast<double>(d);
    for (std::int64_t e = 0; e < d * k; ++e)
      cubes[at(e)] = turned[at(e)] * (turned[at(e)] * turned[at(e)] - (is_varimax ? sums[at(e % k)] : 0));
    const Numbers gradient = product(loadings, k, cubes, k, true);
    Matrix<double> A(ctx.memory(), k, k, gradient), U(ctx.memory(), k, k), Vt(ctx.memory(), k, k);
    Array<double> s(ctx.memory(), k);
    ctx.ops<double>().factorise->svd(A.view(), U.view(), s.view(), Vt.view());
    R = product(U.to_host(), k, Vt.to_host(), k, false);
    const Numbers values = s.to_host();
    const double criterion = std::accumulate(values.begin(), values.end(), 0.0);
    if (before != 0 && criterion < before * (1 + kRotationTolerance)) break;
    before = criterion;
  }
  return R;
}

}   // namespace

template <class T>
FactorAnalysis<T>::FactorAnalysis(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto noise = numbers_of(params_.noise_variance_init);
  if (noise && std::ranges::any_of(*noise, [](double value) { return !(value >= 0); }))
    refuse_param(kName, "noise_variance_init", params_.noise_variance_init, "must have numbers of at least 0");
}

template <class T>
schema::EstimatorInfo FactorAnalysis<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "decomposition",
          .doc = "Few normal factors, with noise of each column's own.",
          .params = param_set().infos(),
          .attributes = {"components_", "loglike_", "noise_variance_", "n_iter_", "mean_"},
          .deviations = {
              "svd_method \"randomized\" is exact, too: it takes the eigenvectors of the covariance matrix.",
              "n_components above the columns is refused. score, score_samples and get_covariance are not offered."}};
}

template <class T>
MemoryNeed FactorAnalysis<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = std::min(X.cols, memory::integer(step, "n_components", X.cols));
  return memory::makes(X, k, 7 * memory::square(X.cols) + memory::block(X) + bytes_of(k, X.cols, 6 * memory::kDouble));
}

template <class T>
std::vector<double> FactorAnalysis<T>::first_noise() const {
  const auto given = numbers_of(params_.noise_variance_init);
  if (!given) return Numbers(at(n_features_), 1.0);
  require(static_cast<std::int64_t>(given->size()) == n_features_, schema::ErrorCode::kBadData,
          "{}: noise_variance_init has {} numbers, must have one for each of {} columns", kName, given->size(),
          n_features_);
  return *given;
}

// True if the log likelihood stopped growing. S: the covariance of the rows, n in the denominator.
template <class T>
bool FactorAnalysis<T>::iterate(const Context& ctx, const Numbers& S, double n) {
  const std::int64_t d = n_features_, k = n_components_;
  const double constant = static_cast<double>(d) * std::log(2 * std::numbers::pi) + static_cast<double>(k);
  double before = -std::numeric_limits<double>::infinity();
  for (n_iter_ = 1; n_iter_ <= params_.max_iter; ++n_iter_) {
    ctx.check_stop();
    Numbers root(at(d)), scaled(S.size());
    for (std::int64_t j = 0; j < d; ++j) root[at(j)] = std::sqrt(noise_variance_[at(j)]) + kSmall;
    for (std::int64_t e = 0; e < d * d; ++e) scaled[at(e)] = S[at(e)] / (root[at(e / d)] * root[at(e % d)]);
    double trace = 0;
    for (std::int64_t j = 0; j < d; ++j) trace += scaled[at(j * (d + 1))];
    Matrix<double> vectors(ctx.memory(), d, d, scaled);
    Array<double> values(ctx.memory(), k);
    ctx.ops<double>().factorise->eigh(vectors.view(), values.view());   // ascending: row i is the vector of w[i]
    const Numbers w = values.to_host(), V = vectors.to_host();
    double likelihood = constant;
    for (std::int64_t i = 0; i < k; ++i) {
      const double value = std::max(w[at(k - 1 - i)], 0.0), size = std::sqrt(std::max(value - 1, 0.0));
      likelihood += std::log(std::max(value, std::numeric_limits<double>::min())), trace -= value;
      for (std::int64_t j = 0; j < d; ++j) components_[at(i * d + j)] = size * V[at((k - 1 - i) * d + j)] * root[at(j)];
    }
    likelihood += std::max(trace, 0.0);
    for (const double noise : noise_variance_)
      likelihood += std::log(std::max(noise, std::numeric_limits<double>::min()));
    likelihood *= -n / 2;
    loglike_.push_back(likelihood);
    if (likelihood - before < params_.tol) return true;
    before = likelihood;
    for (std::int64_t j = 0; j < d; ++j) {
      double explained = 0;
      for (std::int64_t i = 0; i < k; ++i) explained += components_[at(i * d + j)] * components_[at(i * d + j)];
      noise_variance_[at(j)] = std::max(S[at(j * (d + 1))] - explained, kSmall);
    }
    ctx.progress("iterations", n_iter_, params_.max_iter, "iterations");
  }
  n_iter_ = params_.max_iter;
  return false;
}

template <class T>
void FactorAnalysis<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const std::int64_t d = n_features_ = X.n_cols();
  n_components_ = params_.n_components.value_or(d);
  require(n_components_ <= d, schema::ErrorCode::kBadData, "{}: n_components is {}, must be at most {}, the columns",
          kName, n_components_, d);
  mean_ = column_means(ctx, X), noise_variance_ = first_noise();
  components_.assign(at(n_components_ * d), 0.0), loglike_.clear();
  const CentredDesign<T> centred(ctx, X, mean_);
  Matrix<double> G(ctx.memory(), d, d);
  ctx.ops<T>().design->gram(centred.design, G.view());
  Numbers S = G.to_host();
  for (double& value : S) {
    value /= static_cast<double>(X.n_rows());
    require(std::isfinite(value), schema::ErrorCode::kBadData,
            "{}: the covariance leaves double precision; scale the columns", kName);
  }
  if (!iterate(ctx, S, static_cast<double>(X.n_rows())))
    ctx.warn(
        fmt::format("{}: no convergence within max_iter = {} iterations; raise it or tol", kName, params_.max_iter));
  if (!params_.rotation) return;
  Numbers loadings(components_.size());
  for (std::int64_t i = 0; i < n_components_; ++i)
    for (std::int64_t j = 0; j < d; ++j) loadings[at(j * n_components_ + i)] = components_[at(i * d + j)];
  const Numbers R = rotation(ctx, loadings, d, n_components_, *params_.rotation == "varimax");
  components_ = product(R, n_components_, components_, d, true);
}

// The expected factors of a row are (I + W psi^-1 W')^-1 W psi^-1 x.
template <class T>
Samples<T> FactorAnalysis<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t d = n_features_, k = n_components_;
  Numbers weighted = components_, transposed(components_.size());
  for (std::int64_t e = 0; e < k * d; ++e) {
    weighted[at(e)] /= noise_variance_[at(e % d)];
    transposed[at(e % d * k + e / d)] = components_[at(e)];
  }
  Numbers A = product(weighted, d, transposed, k, false), L(at(k * k)), M(at(k * k)), inverse(at(k * k));
  for (std::int64_t i = 0; i < k; ++i) A[at(i * (k + 1))] += 1;
  require(lower_cholesky(A.data(), k, L.data()), schema::ErrorCode::kBadData,
          "{}: the precision of the factors is not positive definite; lower n_components", kName);
  invert_lower(L.data(), k, M.data()), lower_square(M.data(), k, inverse.data());
  const Numbers to_factors = product(inverse, k, weighted, d, false);
  return project<T>(ctx, X, mean_, std::vector<T>(to_factors.begin(), to_factors.end()));
}

template <class T>
schema::ValueMap FactorAnalysis<T>::attributes() const {
  return {{"components_", rows_value(components_, n_features_)},
          {"loglike_", loglike_},
          {"noise_variance_", noise_variance_},
          {"n_iter_", n_iter_},
          {"mean_", mean_}};
}

template <class T>
void FactorAnalysis<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 1, archive.n_features());
  archive.number("n_iter", n_iter_, 1, kMaxSize);
  archive.field("components", components_, n_components_, archive.n_features());
  archive.field("mean", mean_, archive.n_features());
  archive.field("noise_variance", noise_variance_, archive.n_features());
  archive.field("loglike", loglike_, kAnySize);
}

template class FactorAnalysis<float>;
template class FactorAnalysis<double>;

}   // namespace kedge::engine
