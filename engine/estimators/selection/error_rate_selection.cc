// Columns chosen by the p values of their scores.
#include "engine/estimators/selection/error_rate_selection.h"

#include <algorithm>
#include <cmath>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

constexpr const char* name_of(ErrorRate rate) {
  if (rate == ErrorRate::kFalsePositives) return "SelectFpr";
  return rate == ErrorRate::kFalseDiscoveries ? "SelectFdr" : "SelectFwe";
}

constexpr const char* doc_of(ErrorRate rate) {
  if (rate == ErrorRate::kFalsePositives) return "Keep columns whose scores are hardly due to chance, each by itself.";
  if (rate == ErrorRate::kFalseDiscoveries)
    return "Keep columns by their scores so that an expected share of them at most is due to chance.";
  return "Keep columns by their scores so that hardly one of them is due to chance.";
}

template <ErrorRate kRate>
const ParamSet<ErrorRateParams>& param_set() {
  using P = ErrorRateParams;
  static const ParamSet<P> set = ParamSet<P>(name_of(kRate))
                                     .add("score_func", &P::score_func, score_functions(),
                                          "Score of a column: f_classif and chi2 for classes, f_regression for values.")
                                     .add("alpha", &P::alpha, between(0, 1), "Largest rate of errors.");
  return set;
}

}   // namespace

template <class T, ErrorRate kRate>
ErrorRateSelector<T, kRate>::ErrorRateSelector(const schema::ValueMap& params)
    : params_(param_set<kRate>().parse(params)) {}

template <class T, ErrorRate kRate>
schema::EstimatorInfo ErrorRateSelector<T, kRate>::info() {
  return {
      .name = name_of(kRate),
      .kind = "transformer",
      .family = "feature_selection",
      .doc = doc_of(kRate),
      .params = param_set<kRate>().infos(),
      .attributes = {"scores_", "pvalues_"},
      .deviations = {"The scores mutual_info_classif and mutual_info_regression, and callables, are not implemented."}};
}

template <class T, ErrorRate kRate>
double ErrorRateSelector<T, kRate>::threshold() const {
  const auto n = static_cast<double>(scores_.p_values.size());
  if (kRate != ErrorRate::kFalseDiscoveries) {
    const double bound = kRate == ErrorRate::kFamilyWise ? params_.alpha / n : params_.alpha;
    return std::nextafter(bound, -1.0);   // only what is below it is kept
  }
  std::vector<double> sorted;
  for (const double p : scores_.p_values)
    if (!std::isnan(p)) sorted.push_back(p);
  std::ranges::sort(sorted);
  double most = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] <= params_.alpha / n * static_cast<double>(i + 1)) most = sorted[i];
  return most;
}

template <class T, ErrorRate kRate>
void ErrorRateSelector<T, kRate>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_of(kRate), X);
  ctx.check_stop();
  scores_ = feature_scores(ctx, name_of(kRate), params_.score_func, X, y);
  kept_.clear();
  const double most = threshold();
  for (std::size_t j = 0; j < scores_.p_values.size(); ++j)
    if (scores_.p_values[j] <= most) kept_.push_back(static_cast<std::int32_t>(j));
  if (kept_.empty())
    ctx.warn(std::string(name_of(kRate)) + ": no column is kept; the smallest p value is above what alpha allows");
}

template <class T, ErrorRate kRate>
Samples<T> ErrorRateSelector<T, kRate>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_of(kRate), X, scores_.scores.size());
  return selected_columns(ctx, X, kept_);
}

template <class T, ErrorRate kRate>
void ErrorRateSelector<T, kRate>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("scores", scores_.scores, d);
  archive.field("p_values", scores_.p_values, d);
  archive.indices("kept", kept_, kAnySize, 0, d - 1);
}

template class ErrorRateSelector<float, ErrorRate::kFalsePositives>;
template class ErrorRateSelector<double, ErrorRate::kFalsePositives>;
template class ErrorRateSelector<float, ErrorRate::kFalseDiscoveries>;
template class ErrorRateSelector<double, ErrorRate::kFalseDiscoveries>;
template class ErrorRateSelector<float, ErrorRate::kFamilyWise>;
template class ErrorRateSelector<double, ErrorRate::kFamilyWise>;

}   // namespace kedge::engine
