// Columns chosen by the p values of their scores.
#include "engine/estimators/selection/error_rate_selection.h"

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
    : ErrorRateSelector(param_set<kRate>().parse(params)) {}
template <class T, ErrorRate kRate>
ErrorRateSelector<T, kRate>::ErrorRateSelector(ErrorRateParams params)
    : ScoreSelector<T>(name_of(kRate), params.score_func), params_(std::move(params)) {}

template <class T, ErrorRate kRate>
schema::EstimatorInfo ErrorRateSelector<T, kRate>::info() {
  return {.name = name_of(kRate),
          .kind = "transformer",
          .family = "feature_selection",
          .doc = doc_of(kRate),
          .params = param_set<kRate>().infos(),
          .attributes = {"scores_", "pvalues_"},
          .deviations = {kNoMutualInfo}};
}

template <class T, ErrorRate kRate>
std::vector<bool> ErrorRateSelector<T, kRate>::support(const Context& ctx, const FeatureScores& found) const {
  std::vector<bool> mask = below_rate(found.p_values, kRate, params_.alpha);
  warn_of_none(ctx, name_of(kRate), "alpha", mask);
  return mask;
}

template class ErrorRateSelector<float, ErrorRate::kFalsePositives>;
template class ErrorRateSelector<double, ErrorRate::kFalsePositives>;
template class ErrorRateSelector<float, ErrorRate::kFalseDiscoveries>;
template class ErrorRateSelector<double, ErrorRate::kFalseDiscoveries>;
template class ErrorRateSelector<float, ErrorRate::kFamilyWise>;
template class ErrorRateSelector<double, ErrorRate::kFamilyWise>;

}   // namespace kedge::engine
