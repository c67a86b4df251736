// TruncatedSVD: the solvers of PCA about a mean of 0.
#include "engine/estimators/decomposition/truncated_svd.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

using P = TruncatedSVDParams;
constexpr const char* kName = "TruncatedSVD";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, at_least(1), "Components to keep.")
          .add("algorithm", &P::algorithm, {"arpack", "randomized"}, "arpack: exact; randomized: by random projection.")
          .add("n_iter", &P::n_iter, at_least(0), "Power iterations of the randomized algorithm.")
          .add("n_oversamples", &P::n_oversamples, at_least(1), "Extra random vectors of the randomized algorithm.")
          .add("power_iteration_normalizer", &P::power_iteration_normalizer, {"auto", "QR", "LU", "none"},
               "What is done between power iterations; LU is done as QR, with the same result.")
          .random_state(&P::random_state)
          .ignore("tol", 0.0, {number_form(at_least(0))});
  return set;
}

// Subspace iteration in place of Lanczos: a wider space, and steps until the leading directions are those of the data to about 1e-10
// where the spectrum falls at all.
RandomizedOptions with_many_steps(RandomizedOptions options) {
  options.n_oversamples = std::max<std::int64_t>(options.n_oversamples, 2 * options.n_components + 20);
  options.n_iter = 60;
  options.normalizer = "QR";
  return options;
}

// The components (rows of `cols` numbers) as columns.
std::vector<double> column_of_components(const std::vector<double>& components, std::int64_t cols) {
  const auto d = static_cast<std::size_t>(cols), k = components.size() / d;
  std::vector<double> columns(components.size());
  for (std::size_t e = 0; e < components.size(); ++e) columns[e % d * k + e / d] = components[e];
  return columns;
}

}  // namespace

template <class T>
TruncatedSVD<T>::TruncatedSVD(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo TruncatedSVD<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "decomposition",
      .doc = "Singular value decomposition without centring, cut to its leading components.",
      .params = param_set().infos(),
      .attributes = {"components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"},
      .deviations = {
          "Sparse data of more than 4,194,304 cells go through the randomized algorithm; for algorithm \"arpack\" with a wider space and 60 "
          "steps.",
          "algorithm \"arpack\" solves exactly, by another method, and ignores tol.",
          "The randomized algorithm draws its random vectors from Philox, not from numpy's generator, and solves exactly, by the "
          "Gram matrix, where that is less work."}};
}

template <class T>
void TruncatedSVD<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), d = X.n_cols(), small = std::min(n, d);
  require(d >= 2, schema::ErrorCode::kBadData, "{}: got {} column, needs at least 2", kName, d);
  const bool is_exact = params_.algorithm == "arpack";
  const std::int64_t most = is_exact ? small - 1 : d;
  require(params_.n_components <= most, schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be at most {} for {} rows and {} columns", kName, params_.n_components, most, n, d);
  n_features_ = d, n_components_ = std::min(params_.n_components, small);

  const std::vector<double> origin(static_cast<std::size_t>(d), 0.0);
  const RandomizedOptions options{.n_components = n_components_,
                                  .n_oversamples = params_.n_oversamples,
                                  .n_iter = params_.n_iter,
                                  .normalizer = params_.power_iteration_normalizer,
                                  .seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed};
  Spectrum spectrum;
  if (is_large_sparse(X)) spectrum = sparse_spectrum(ctx, X, is_exact ? with_many_steps(options) : options);
  else if (is_exact ? n >= d : is_covariance_cheaper(ctx, n, d, options)) spectrum = covariance_spectrum(ctx, X, origin, n_components_);
  if (spectrum.variance.empty() || (!is_large_sparse(X) && !is_well_conditioned<T>(spectrum, n_components_)))
    spectrum = is_exact ? svd_spectrum(ctx, X, origin) : randomized_spectrum(ctx, X, origin, options);
  components_.assign(spectrum.components.begin(), spectrum.components.begin() + n_components_ * d);
  fix_signs(components_, d);
  singular_values_.clear();
  for (std::int64_t i = 0; i < n_components_; ++i) singular_values_.push_back(singular_value(spectrum, i, n));

  explained_variance_ = column_moments(ctx, transform(ctx, X)).variance;
  const std::vector<double> variance = column_moments(ctx, X).variance;
  const double total = std::accumulate(variance.begin(), variance.end(), 0.0);
  explained_variance_ratio_ = explained_variance_;
  for (double& share : explained_variance_ratio_) share = total > 0 ? share / total : 0.0;
}

template <class T>
Samples<T> TruncatedSVD<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  if (X.is_sparse()) {
    const SparseRows<T> rows(ctx, X);
    const std::vector<double> host = product(ctx, rows.view(), column_of_components(components_, n_features_), n_components_).to_host();
    return samples_of(Matrix<T>(ctx.memory(), X.n_rows(), n_components_, std::vector<T>(host.begin(), host.end())));
  }
  const std::vector<double> origin(static_cast<std::size_t>(n_features_), 0.0);
  return project<T>(ctx, X, origin, std::vector<T>(components_.begin(), components_.end()));
}

template <class T>
schema::ValueMap TruncatedSVD<T>::attributes() const {
  return {{"components_", rows_value(components_, n_features_)},
          {"explained_variance_", explained_variance_},
          {"explained_variance_ratio_", explained_variance_ratio_},
          {"singular_values_", singular_values_}};
}

template <class T>
void TruncatedSVD<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 0, kMaxSize);
  archive.field("components", components_, n_components_, n_features_);
  archive.field("singular_values", singular_values_, n_components_);
  archive.field("explained_variance", explained_variance_, n_components_);
  archive.field("explained_variance_ratio", explained_variance_ratio_, n_components_);
}

template class TruncatedSVD<float>;
template class TruncatedSVD<double>;

}  // namespace kedge::engine
