// NearestCentroid: centres and spreads of the classes, and distances from the centres.
#include "engine/estimators/neighbors/nearest_centroid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/class_moments.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = NearestCentroidParams;
using Numbers = std::vector<double>;
constexpr const char* kName = "NearestCentroid";
constexpr std::int64_t kBlockRows = 8192;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("metric", &P::metric, {"euclidean", "manhattan"}, "Distance; manhattan takes medians for centres.")
          .add("shrink_threshold", &P::shrink_threshold, above(0),
               "By how many standard errors centres are moved towards the mean of all rows; null for none.")
          .any("priors", &P::priors, {string_form({"uniform", "empirical"}), array_form()},
               "Shares of the classes: equal, those of the fitted rows, or given ones.");
  return set;
}

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double median(Numbers values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Of the mapped values.
template <class T>
ClassMoments class_moments(const Context& ctx, const Samples<T>& X, const PresentClasses& present, const Target& y) {
  const DevicePositions positions(ctx, present, y);
  ClassMoments made =
      fetch_class_moments(ctx, std::as_const(X.table->X).view(), X.row_view(), positions.view(), {}, present.size());
  for (std::size_t e = 0; X.is_affine() && e < made.mean.size(); ++e) {
    const std::size_t j = e % at(X.n_cols());
    made.mean[e] = (made.mean[e] - X.shift[j]) * X.scale[j], made.variance[e] *= X.scale[j] * X.scale[j];
  }
  return made;
}

}   // namespace

template <class T>
NearestCentroid<T>::NearestCentroid(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto given = numbers_of(params_.priors);
  if (!given) return;
  const double total = std::accumulate(given->begin(), given->end(), 0.0);
  if (std::ranges::any_of(*given, [](double prior) { return !(prior >= 0); }) || !(total > 0) || !std::isfinite(total))
    refuse_param(kName, "priors", params_.priors, "must have numbers of at least 0, not all 0");
}

template <class T>
schema::EstimatorInfo NearestCentroid<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "neighbors",
          .doc = "Nearest centre of a class.",
          .params = param_set().infos(),
          .attributes = {"classes_", "centroids_", "class_prior_", "within_class_std_dev_", "deviations_"},
          .deviations = {
              "A column that does not vary within the classes has deviations of 0; scikit-learn's are NaN or infinite "
              "where all columns are such."}};
}

template <class T>
MemoryNeed NearestCentroid<T>::memory(const SampleShape& X, const schema::Step&) {
  return {.work = X.copy() + memory::block(X) + bytes_of(X.n_outputs, X.cols, 8 * memory::kDouble) +
                  2 * memory::answers(X)};
}

template <class T>
void NearestCentroid<T>::set_priors(const Context& ctx, const Target& y) {
  const auto given = numbers_of(params_.priors);
  if (given && given->size() != y.classes.size())
    refuse_param(kName, "priors", params_.priors,
                 "must have one number for each of the " + std::to_string(y.classes.size()) + " classes of the data");
  const bool is_uniform = !given && std::get<std::string>(params_.priors.data) == "uniform";
  class_prior_.clear();
  for (std::int32_t c = 0; c < present_.size(); ++c)
    class_prior_.push_back(given        ? (*given)[at(present_.codes[at(c)])]
                           : is_uniform ? 1.0
                                        : static_cast<double>(present_.counts[at(c)]));
  const double total = std::accumulate(class_prior_.begin(), class_prior_.end(), 0.0);
  require(total > 0, schema::ErrorCode::kBadData, "{}: the priors of the classes of the rows are all 0", kName);
  if (given && std::abs(total - 1) > 1e-8)
    ctx.warn(fmt::format("{}: the priors sum to {}; they are divided by it", kName, total));
  for (double& prior : class_prior_) prior /= total;
}

template <class T>
void NearestCentroid<T>::set_centres(const Context& ctx, const Samples<T>& X, const Target& y) {
  const std::int64_t k = present_.size(), d = n_features_, n = X.n_rows();
  const ClassMoments moments = class_moments(ctx, X, present_, y);
  centroids_ = moments.mean;
  for (std::int64_t c = 0; !is_euclidean() && c < k; ++c) {
    ctx.check_stop();
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n; ++i)
      if (y.codes[at(i)] == present_.codes[at(c)]) rows.push_back(i);
    const Numbers medians = column_quantiles(ctx, selected_rows(ctx, X, rows), {0.5});
    std::ranges::copy(medians, centroids_.begin() + c * d);
  }
  within_.assign(at(d), 0.0);
  for (std::int64_t e = 0; e < k * d; ++e) {
    const double apart = moments.mean[at(e)] - centroids_[at(e)];
    within_[at(e % d)] += moments.count[at(e / d)] * (moments.variance[at(e)] + apart * apart);
  }
  for (double& spread : within_) spread = n > k ? std::sqrt(spread / static_cast<double>(n - k)) : 0;
  Numbers mean(at(d), 0.0);
  for (std::int64_t e = 0; e < k * d; ++e)
    mean[at(e % d)] += moments.count[at(e / d)] * moments.mean[at(e)] / static_cast<double>(n);
  shrink(mean, static_cast<double>(n));
}

// The deviations of the centres from the mean of all, in standard errors; with a threshold, the centres that are left.
template <class T>
void NearestCentroid<T>::shrink(const Numbers& mean, double n) {
  const double usual = median(within_);
  deviations_.assign(centroids_.size(), 0.0);
  for (std::size_t e = 0; e < centroids_.size(); ++e) {
    const std::size_t j = e % within_.size(), c = e / within_.size();
    const double error = std::sqrt(1 / static_cast<double>(present_.counts[c]) - 1 / n) * (within_[j] + usual);
    double& deviation = deviations_[e];
    if (error > 0) deviation = (centroids_[e] - mean[j]) / error;
    if (!params_.shrink_threshold) continue;
    deviation = std::copysign(std::max(std::abs(deviation) - *params_.shrink_threshold, 0.0), deviation);
    if (error > 0) centroids_[e] = mean[j] + error * deviation;
  }
}

template <class T>
void NearestCentroid<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  present_ = PresentClasses(ctx, y);
  n_features_ = X.n_cols();
  require(present_.size() >= 2, schema::ErrorCode::kBadData, "{}: the rows have {} class, needs at least 2", kName,
          present_.size());
  const Ranges ranges = column_ranges(ctx, X);
  require(ranges.minimum != ranges.maximum, schema::ErrorCode::kBadData, "{}: no column varies", kName);
  set_priors(ctx, y);
  set_centres(ctx, X, y);
  if (std::ranges::any_of(within_, [](double spread) { return spread == 0; }))
    ctx.warn(fmt::format("{}: a column does not vary within the classes", kName));
}

template <class T>
Matrix<T> NearestCentroid<T>::scores(const Context& ctx, const Samples<T>& X, bool is_scaled) const {
  require_fitted_columns(kName, X, at(n_features_));
  const std::int64_t n = X.n_rows(), k = present_.size();
  Numbers scale(within_.size(), 1.0), centres = centroids_, logs;
  for (std::size_t j = 0; is_scaled && j < scale.size(); ++j)
    if (within_[j] != 0) scale[j] = 1 / within_[j];
  for (std::size_t e = 0; e < centres.size(); ++e) centres[e] *= scale[e % scale.size()];
  for (const double prior : class_prior_)
    logs.push_back(2 * std::log(std::max(prior, std::numeric_limits<double>::min())));
  const Samples<T> scaled = is_scaled ? X.then(Numbers(scale.size(), 0.0), scale) : X;
  const Matrix<T> to(ctx.memory(), k, n_features_, std::vector<T>(centres.begin(), centres.end())),
      minus(ctx.memory(), 1, 1, std::vector<T>{T{-1}});
  const std::vector<T> added(logs.begin(), logs.end());
  const Array<T> prior(ctx.memory(), std::span<const T>(added));
  Matrix<T> scratch, out(ctx.memory(), n, k);
  const Distance distance{is_euclidean() ? Metric::kEuclidean : Metric::kManhattan};
  Backend<T>& ops = ctx.ops<T>();
  const std::int64_t step = block_rows(ctx, kBlockRows, n_features_);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
    ops.distances->pairwise(scaled.values(ctx, first, count, scratch), to.view(), distance,
                            out.view().row_range(first, count));
  }
  if (is_scaled) ops.maps->map(Unary::kSquare, 1, std::as_const(out).view(), out.view());
  ops.maps->combine(Binary::kMultiply, std::as_const(out).view(), minus.view(), out.view());
  if (is_scaled) ops.rows->add_to_rows(prior.view(), out.view());
  return out;
}

template <class T>
void NearestCentroid<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<T> found = scores(ctx, X, true);
  spread_scores(ctx, present_, found.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
void NearestCentroid<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  const Matrix<T> found = scores(ctx, X, true);
  spread_decision(ctx, present_, found.view(), decision);
}

template <class T>
std::vector<std::int32_t> NearestCentroid<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const double share = 1 / static_cast<double>(class_prior_.size());
  const bool is_uniform =
      std::ranges::all_of(class_prior_, [&](double prior) { return std::abs(prior - share) <= 1e-8 + 1e-5 * share; });
  const Matrix<T> found = scores(ctx, X, !is_uniform);
  return best_codes(ctx, present_, found.view());
}

template <class T>
schema::ValueMap NearestCentroid<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"centroids_", rows_value(centroids_, n_features_)},
          {"class_prior_", class_prior_},
          {"within_class_std_dev_", within_},
          {"deviations_", rows_value(deviations_, n_features_)}};
}

template <class T>
void NearestCentroid<T>::state(StateArchive& archive) {
  present_.state(archive);
  archive.features(n_features_);
  const std::int64_t d = archive.n_features();
  archive.field("class_prior", class_prior_, present_.size());
  archive.field("centroids", centroids_, present_.size(), d);
  archive.field("within", within_, d);
  archive.field("deviations", deviations_, present_.size(), d);
}

template class NearestCentroid<float>;
template class NearestCentroid<double>;

}   // namespace kedge::engine
