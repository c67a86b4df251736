// IncrementalPCA: merges the moments and the leading singular vectors of one batch after the other.
#include "engine/estimators/decomposition/incremental_pca.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/linear/least_squares.h"

namespace kedge::engine {
namespace {

using P = IncrementalPCAParams;
constexpr const char* kName = "IncrementalPCA";
constexpr std::int64_t kJoinedCells = std::int64_t{1} << 20;   // of the batches that are added at once, 8 MiB

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, at_least(1), "Components to keep; null for as many as the first batch has.")
          .add("whiten", &P::whiten, "Scale the result to unit variance.")
          .ignore("copy", true, {boolean_form()})
          .add("batch_size", &P::batch_size, at_least(1), "Rows of a batch; null for five times the columns.");
  return set;
}

// Where batches end, as scikit-learn's gen_batches: no last batch is shorter than `least`, it is joined to the one before.
std::vector<std::int64_t> batch_ends(std::int64_t n, std::int64_t size, std::int64_t least) {
  std::vector<std::int64_t> ends;
  for (std::int64_t end = size; end <= n; end += size)
    if (end + least <= n) ends.push_back(end);
  if (ends.empty() || ends.back() < n) ends.push_back(n);
  return ends;
}

// The ends of as many batches as a block of memory has: what nothing is cut from may be added at once.
std::vector<std::int64_t> joined(const std::vector<std::int64_t>& ends, std::int64_t d) {
  const std::int64_t most = incremental_block_rows(d);
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t begin = kept.empty() ? 0 : kept.back();
    if (i + 1 == ends.size() || ends[i + 1] - begin > most) kept.push_back(ends[i]);
  }
  return kept;
}

}  // namespace

std::int64_t incremental_block_rows(std::int64_t n_cols) {
  return kJoinedCells / std::max<std::int64_t>(n_cols, 1);
}

template <class T>
IncrementalPCA<T>::IncrementalPCA(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo IncrementalPCA<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "decomposition",
          .doc = "Principal component analysis by batches of rows.",
          .params = param_set().infos(),
          .attributes = {"components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "var_",
                         "noise_variance_", "n_components_", "n_samples_seen_", "batch_size_"},
          .deviations = {}};
}

template <class T>
void IncrementalPCA<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  const std::int64_t n = X.n_rows(), d = n_features_ = X.n_cols();
  batch_size_ = params_.batch_size.value_or(5 * d);
  std::vector<std::int64_t> ends = batch_ends(n, batch_size_, params_.n_components.value_or(0));
  n_components_ = params_.n_components.value_or(std::min(ends[0], d));
  require(n_components_ <= std::min(d, ends[0]), schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be at most {}, the smaller of {} columns and {} rows of the first batch", kName,
          n_components_, std::min(d, ends[0]), d, ends[0]);
  if (n_components_ == d) ends = joined(ends, d);
  n_samples_seen_ = 0;
  components_.clear(), singular_values_.clear(), known_.clear();
  mean_.assign(static_cast<std::size_t>(d), 0.0), var_ = mean_;
  Matrix<T> scratch;
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    ctx.check_stop();
    add_batch(ctx, X.values(ctx, first, end - first, scratch), end == n);
    ctx.progress("rows", end, n, "rows");
    first = end;
  }
  known_.clear();
}

template <class T>
void IncrementalPCA<T>::add_batch(const Context& ctx, MatrixView<const T> rows, bool is_last) {
  const std::int64_t d = n_features_, b = rows.rows, extra = n_samples_seen_ > 0 ? 1 : 0;
  Array<double> mean(ctx.memory(), d), variance(ctx.memory(), d);
  ctx.ops<T>().tables->column_moments(rows, {}, {}, mean.view(), variance.view());
  const std::vector<double> batch_mean = mean.to_host();

  std::vector<double> head = known_;   // and the correction of the mean
  const double seen = static_cast<double>(n_samples_seen_), count = static_cast<double>(b),
               weight = std::sqrt(seen / (seen + count) * count);
  for (std::size_t j = 0; extra && j < batch_mean.size(); ++j) head.push_back(weight * (mean_[j] - batch_mean[j]));
  const std::int64_t above = std::ssize(head) / d, m = above + b;
  Matrix<double> stack(ctx.memory(), m, d), R(ctx.memory(), d, d);
  if (!head.empty()) ctx.memory().to_device(stack.data(), head.data(), head.size() * sizeof(double));
  ctx.ops<T>().design->gather({.X = rows, .shift = std::as_const(mean).view()}, 0, stack.view().row_range(above, b));
  merge_moments(batch_mean, variance.to_host(), b);

  Decomposition found;
  if (m > d) {
    ctx.ops<double>().design->triangle({.X = std::as_const(stack).view()}, R.view());
    known_ = R.to_host();
    if (n_components_ == d && !is_last) return;   // the triangle is all that the next rows ask for
    found = decompose(ctx, known_, d, d);
  } else {
    found = decompose(ctx, stack.to_host(), m, d);
  }
  take_spectrum(found.s, found.Vt, b);
  known_ = components_;
  for (std::size_t e = 0; e < known_.size(); ++e) known_[e] *= singular_values_[e / static_cast<std::size_t>(d)];
}

template <class T>
void IncrementalPCA<T>::merge_moments(const std::vector<double>& mean, const std::vector<double>& variance, std::int64_t count) {
  const double before = static_cast<double>(n_samples_seen_), now = static_cast<double>(count), all = before + now;
  for (std::size_t j = 0; j < mean_.size(); ++j) {
    const double shift = mean[j] - mean_[j];
    var_[j] = (before * var_[j] + now * variance[j] + before * now / all * shift * shift) / all;
    mean_[j] += now / all * shift;
  }
  n_samples_seen_ += count;
}

template <class T>
void IncrementalPCA<T>::take_spectrum(const std::vector<double>& singular, const std::vector<double>& vectors,
                                      std::int64_t batch_rows) {
  const auto kept = static_cast<std::size_t>(n_components_);
  const double rows = static_cast<double>(n_samples_seen_), total = rows * std::accumulate(var_.begin(), var_.end(), 0.0);
  components_.assign(vectors.begin(), vectors.begin() + static_cast<std::ptrdiff_t>(kept) * n_features_);
  fix_signs(components_, n_features_);
  singular_values_.assign(singular.begin(), singular.begin() + static_cast<std::ptrdiff_t>(kept));
  explained_variance_.clear(), explained_variance_ratio_.clear();
  for (const double s : singular_values_) {
    explained_variance_.push_back(s * s / std::max(rows - 1, 1.0));
    explained_variance_ratio_.push_back(total > 0 ? s * s / total : 0.0);
  }
  noise_variance_ = 0;
  if (n_components_ == batch_rows || n_components_ == n_features_) return;
  for (std::size_t i = kept; i < singular.size(); ++i)
    noise_variance_ += singular[i] * singular[i] / std::max(rows - 1, 1.0) / static_cast<double>(singular.size() - kept);
}

template <class T>
Samples<T> IncrementalPCA<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return project<T>(ctx, X, mean_,
                    projection<T>(components_, params_.whiten ? explained_variance_ : std::vector<double>(), n_features_));
}

template <class T>
schema::ValueMap IncrementalPCA<T>::attributes() const {
  return {{"components_", rows_value(components_, n_features_)},
          {"explained_variance_", explained_variance_},
          {"explained_variance_ratio_", explained_variance_ratio_},
          {"singular_values_", singular_values_},
          {"mean_", mean_},
          {"var_", var_},
          {"noise_variance_", noise_variance_},
          {"n_components_", n_components_},
          {"n_samples_seen_", n_samples_seen_},
          {"batch_size_", batch_size_}};
}

template <class T>
void IncrementalPCA<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 0, kMaxSize);
  archive.number("n_samples_seen", n_samples_seen_, 0, kMaxSize);
  archive.number("batch_size", batch_size_, 0, kMaxSize);
  archive.field("noise_variance", noise_variance_);
  archive.field("components", components_, n_components_, n_features_);
  archive.field("singular_values", singular_values_, n_components_);
  archive.field("explained_variance", explained_variance_, n_components_);
  archive.field("explained_variance_ratio", explained_variance_ratio_, n_components_);
  archive.field("mean", mean_, n_features_);
  archive.field("var", var_, n_features_);
}

template class IncrementalPCA<float>;
template class IncrementalPCA<double>;

}  // namespace kedge::engine
