// Mixtures as estimators: rows in double blocks, less the means of the columns.
#include "engine/estimators/mixture/mixture_model.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/own_values.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
constexpr std::int64_t kBlockRows = 32768;   // rows whose densities are held together

}   // namespace

template <class T>
void MixtureModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(name_, X, 2);
  ctx.check_stop();
  require(X.n_rows() >= shared_.n_components, schema::ErrorCode::kBadData,
          "{}: n_components is {}, but there are only {} rows", name_, shared_.n_components, X.n_rows());
  n_features_ = X.n_cols(), mean_ = column_means(ctx, X);
  const OwnCentredValues<T> values(ctx, X, mean_);
  MixtureRows rows(ctx, values.view(), kind(), shared_.n_components);
  const std::unique_ptr<MixtureRule> rule = this->rule(ctx, values.view(), mean_, rows);
  fitted_ = fit_mixture(ctx, name_, shared_, *rule, values.view(), mean_, rows);
  const MixtureComponents components = components_of(*rule, fitted_.state, shared_, n_features_);
  log_weights_ = components.log_weights;
  rows.expect(components);
  labels_ = rows.largest_shares();
}

template <class T>
void MixtureModel<T>::for_blocks(const Context& ctx, const Samples<T>& X, const Visit& visit) const {
  require_fitted_columns(name_, X, static_cast<std::size_t>(n_features_));
  const MixtureComponents components{.kind = kind(),
                                     .n = shared_.n_components,
                                     .d = n_features_,
                                     .means = fitted_.state.means,
                                     .factors = fitted_.state.factors,
                                     .log_weights = log_weights_};
  const CentredDesign<T> centred(ctx, X, mean_);
  const std::int64_t n = X.n_rows(), step = std::min(n, kBlockRows);
  Matrix<double> values(ctx.memory(), step, n_features_);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const MatrixView<double> block = values.view().row_range(0, std::min(step, n - first));
    ctx.ops<T>().design->gather(centred.design, first, block);
    MixtureRows rows(ctx, block, kind(), shared_.n_components);
    rows.expect(components);
    visit(first, rows);
  }
}

template <class T>
std::vector<std::int32_t> MixtureModel<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::int32_t> labels;
  for_blocks(ctx, X, [&](std::int64_t, MixtureRows& rows) {
    const std::vector<std::int32_t> found = rows.largest_shares();
    labels.insert(labels.end(), found.begin(), found.end());
  });
  return labels;
}

template <class T>
std::vector<std::string> MixtureModel<T>::row_outputs() const {
  return {std::string(kPredictProba), std::string(kScoreSamples)};
}

template <class T>
Matrix<double> MixtureModel<T>::row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const {
  const bool is_proba = output == kPredictProba;
  const std::int64_t cols = is_proba ? shared_.n_components : 1;
  Matrix<double> out(ctx.memory(), X.n_rows(), cols);
  for_blocks(ctx, X, [&](std::int64_t first, MixtureRows& rows) {
    const Matrix<double> densities = is_proba ? Matrix<double>() : rows.log_densities();
    const MatrixView<const double> from = is_proba ? rows.shares() : densities.view();
    ctx.memory().copy(out.data() + first * cols, from.data, static_cast<std::size_t>(from.size()) * sizeof(double));
  });
  return out;
}

template <class T>
std::vector<double> MixtureModel<T>::uncentred(std::vector<double> means) const {
  for (std::size_t e = 0; e < means.size(); ++e) means[e] += mean_[e % mean_.size()];
  return means;
}

template <class T>
schema::Value MixtureModel<T>::by_kind(const std::vector<double>& numbers) const {
  if (kind() == CovarianceKind::kSpherical) return numbers;
  if (kind() != CovarianceKind::kFull) return rows_value(numbers, n_features_);
  schema::ValueList all;
  const std::int64_t size = n_features_ * n_features_;
  for (std::int64_t k = 0; k < shared_.n_components; ++k)
    all.push_back(rows_value({numbers.begin() + k * size, numbers.begin() + (k + 1) * size}, n_features_));
  return all;
}

template <class T>
schema::ValueMap MixtureModel<T>::attributes() const {
  const MixtureState& s = fitted_.state;
  const std::int64_t n = shared_.n_components, d = n_features_;
  return {{"weights_", s.weights},
          {"means_", rows_value(uncentred(s.means), d)},
          {"covariances_", by_kind(s.covariances)},
          {"precisions_", by_kind(precisions_of(kind(), n, d, s.factors))},
          {"precisions_cholesky_", by_kind(upper_factors(kind(), n, d, s.factors))},
          {"converged_", fitted_.has_converged},
          {"n_iter_", fitted_.n_iter},
          {"lower_bound_", fitted_.lower_bound},
          {"lower_bounds_", fitted_.lower_bounds}};
}

template <class T>
void MixtureModel<T>::state(StateArchive& archive) {
  const std::int64_t n = shared_.n_components, d = archive.n_features();
  MixtureState& s = fitted_.state;
  const auto size = static_cast<std::int64_t>(covariance_size(kind(), n, d));
  archive.features(n_features_);
  archive.field("mean", mean_, d);
  archive.field("weights", s.weights, n);
  archive.field("means", s.means, n, d);
  archive.field("covariances", s.covariances, size);
  archive.field("factors", s.factors, size);
  archive.field("log_weights", log_weights_, n);
  archive.field("labels", labels_, kAnySize);
  archive.field("converged", fitted_.has_converged);
  archive.number("n_iter", fitted_.n_iter, 0, kMaxSize);
  archive.field("lower_bound", fitted_.lower_bound);
  archive.field("lower_bounds", fitted_.lower_bounds, kAnySize);
}

template <class T>
MemoryNeed MixtureModel<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = memory::integer(step, "n_components"), d = X.cols;
  const std::int64_t kinds = memory::text(step, "covariance_type") == "full"
                                 ? bytes_of(k, (d + 1) * (d + 1), memory::kDouble)
                                 : memory::square(d) + bytes_of(k, d, memory::kDouble);
  const std::int64_t squares = memory::text(step, "covariance_type") == "full" ? 0 : memory::doubles(X);
  MemoryNeed need{.work = memory::doubles(X) + squares + bytes_of(X.rows, 4 * k + 4, memory::kDouble) + 8 * kinds +
                          memory::block(X) + (std::int64_t{32} << 20),
                  .minimum = memory::doubles(X)};
  return need;
}

template class MixtureModel<float>;
template class MixtureModel<double>;

}   // namespace kedge::engine
