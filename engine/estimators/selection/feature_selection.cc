// VarianceThreshold, SelectKBest and SelectPercentile: scores, and which columns they keep.
#include "engine/estimators/selection/feature_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"
#include "engine/estimators/selection/score_choice.h"

namespace kedge::engine {
namespace {

constexpr const char* kScoreDoc = "Score of a column: f_classif and chi2 for classes, f_regression for values.";
const ParamSet<VarianceThresholdParams>& threshold_params() {
  using P = VarianceThresholdParams;
  static const ParamSet<P> set =
      ParamSet<P>("VarianceThreshold")
          .add("threshold", &P::threshold, at_least(0), "Columns with at most this variance are left out.");
  return set;
}

const ParamSet<SelectKBestParams>& k_best_params() {
  using P = SelectKBestParams;
  static const ParamSet<P> set = ParamSet<P>("SelectKBest")
                                     .add("score_func", &P::score_func, score_functions(), kScoreDoc)
                                     .any("k", &P::k, {integer_form(at_least(0)), string_form({"all"})}, "Columns to keep.");
  return set;
}

const ParamSet<SelectPercentileParams>& percentile_params() {
  using P = SelectPercentileParams;
  static const ParamSet<P> set = ParamSet<P>("SelectPercentile")
                                     .add("score_func", &P::score_func, score_functions(), kScoreDoc)
                                     .add("percentile", &P::percentile, between(0, 100), "Columns to keep, in percent.");
  return set;
}

std::vector<std::int32_t> positions_of(const std::vector<bool>& mask) {
  std::vector<std::int32_t> positions;
  for (std::size_t j = 0; j < mask.size(); ++j)
    if (mask[j]) positions.push_back(static_cast<std::int32_t>(j));
  return positions;
}

}  // namespace

void warn_of_many(const Context& ctx, const char* owner, const char* param, std::int64_t k, std::size_t n_cols) {
  if (k > static_cast<std::int64_t>(n_cols))
    ctx.warn(fmt::format("{}: {} is {}, more than the {} columns; keeps all of them", owner, param, k, n_cols));
}

void warn_of_none(const Context& ctx, const char* owner, const char* param, const std::vector<bool>& kept) {
  if (std::ranges::count(kept, true) == 0)
    ctx.warn(fmt::format("{}: no column is kept; the smallest p value is above what {} allows", owner, param));
}

template <class T>
VarianceThreshold<T>::VarianceThreshold(const schema::ValueMap& params) : params_(threshold_params().parse(params)) {}

template <class T>
schema::EstimatorInfo VarianceThreshold<T>::info() {
  return {.name = "VarianceThreshold",
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Leave out columns that hardly vary.",
          .params = threshold_params().infos(),
          .attributes = {"variances_"},
          .deviations = {"A variance that leaves float64 is infinite, or, with threshold 0, the least number above 0."}};
}

template <class T>
void VarianceThreshold<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("VarianceThreshold", X);
  refuse_infinite(ctx, "VarianceThreshold", X);
  ctx.check_stop();
  PresentMoments moments = present_moments(ctx, X);
  variances_ = std::move(moments.variance);
  if (params_.threshold == 0) {
    constexpr double kLeast = std::numeric_limits<double>::denorm_min();   // for a variance that leaves double
    const Ranges ranges = column_ranges(ctx, X);
    for (std::size_t j = 0; j < variances_.size(); ++j)
      if (moments.count[j] == static_cast<double>(X.n_rows()))   // as scikit-learn: not where values are missing
        variances_[j] = std::min(moments.deviation[j] > 0 ? std::max(variances_[j], kLeast) : variances_[j], ranges.maximum[j] - ranges.minimum[j]);
  }
  require(std::ranges::any_of(variances_, [&](double v) { return v > params_.threshold; }),
          schema::ErrorCode::kBadData, "VarianceThreshold: no column has a variance above the threshold, {}{}", params_.threshold,
          X.n_rows() == 1 ? "; there is only one row" : "");
}

template <class T>
Samples<T> VarianceThreshold<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("VarianceThreshold", X, variances_.size());
  std::vector<bool> mask;
  for (const double v : variances_) mask.push_back(v > params_.threshold);
  return selected_columns(ctx, X, positions_of(mask));
}

template <class T>
void ScoreSelector<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  ctx.check_stop();
  scores_ = feature_scores(ctx, name_, score_func_, X, y);
  kept_ = positions_of(support(ctx, scores_));
}

template <class T>
Samples<T> ScoreSelector<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, scores_.scores.size());
  return selected_columns(ctx, X, kept_);
}

template <class T>
SelectKBest<T>::SelectKBest(const schema::ValueMap& params) : SelectKBest(k_best_params().parse(params)) {}
template <class T>
SelectKBest<T>::SelectKBest(SelectKBestParams params)
    : ScoreSelector<T>("SelectKBest", params.score_func), params_(std::move(params)) {}

template <class T>
schema::EstimatorInfo SelectKBest<T>::info() {
  return {.name = "SelectKBest",
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Keep the columns with the highest scores.",
          .params = k_best_params().infos(),
          .attributes = {"scores_", "pvalues_"},
          .deviations = {kNoMutualInfo, kExactSums}};
}

template <class T>
std::vector<bool> SelectKBest<T>::support(const Context& ctx, const FeatureScores& found) const {
  const auto* k = std::get_if<std::int64_t>(&params_.k.data);
  if (k) warn_of_many(ctx, "SelectKBest", "k", *k, found.scores.size());
  return best_columns(found.scores, k ? *k : static_cast<std::int64_t>(found.scores.size()));
}

template <class T>
SelectPercentile<T>::SelectPercentile(const schema::ValueMap& params) : SelectPercentile(percentile_params().parse(params)) {}
template <class T>
SelectPercentile<T>::SelectPercentile(SelectPercentileParams params)
    : ScoreSelector<T>("SelectPercentile", params.score_func), params_(std::move(params)) {}

template <class T>
schema::EstimatorInfo SelectPercentile<T>::info() {
  return {.name = "SelectPercentile",
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Keep a percentage of the columns, those with the highest scores.",
          .params = percentile_params().infos(),
          .attributes = {"scores_", "pvalues_"},
          .deviations = {kNoMutualInfo, kExactSums}};
}

template <class T>
std::vector<bool> SelectPercentile<T>::support(const Context&, const FeatureScores& found) const {
  return best_share(found.scores, params_.percentile);
}

template <class T>
void VarianceThreshold<T>::state(StateArchive& archive) {
  archive.field("variances", variances_, archive.n_features());
}

template <class T>
void ScoreSelector<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("scores", scores_.scores, d);
  archive.field("p_values", scores_.p_values, kAnySize);
  archive.indices("kept", kept_, kAnySize, 0, d - 1);
}

template class VarianceThreshold<float>;
template class VarianceThreshold<double>;
template class ScoreSelector<float>;
template class ScoreSelector<double>;
template class SelectKBest<float>;
template class SelectKBest<double>;
template class SelectPercentile<float>;
template class SelectPercentile<double>;

}  // namespace kedge::engine
