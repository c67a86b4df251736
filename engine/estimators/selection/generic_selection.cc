// A selector by the name of its mode.
#include "engine/estimators/selection/generic_selection.h"

#include <cmath>

#include "engine/estimators/selection/score_choice.h"

namespace kedge::engine {
namespace {

constexpr const char* kName = "GenericUnivariateSelect";

const ParamSet<GenericUnivariateSelectParams>& param_set() {
  using P = GenericUnivariateSelectParams;
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("score_func", &P::score_func, score_functions(),
               "Score of a column: f_classif and chi2 for classes, f_regression for values.")
          .add("mode", &P::mode, {"percentile", "k_best", "fpr", "fdr", "fwe"},
               "What is kept: a share of the columns, a number of them, or those below a rate of errors.")
          .any("param", &P::param, {number_form(at_least(0)), string_form({"all"})},
               "Of percentile the columns to keep, in percent, of k_best their number or all, of the others the rate.");
  return set;
}

// Columns to keep are counted; "all" is as many as there may be.
std::int64_t count_of(const schema::Value& param) {
  const auto* number = std::get_if<double>(&param.data);
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(number ? std::min(*number, kMost) : kMost);
}

GenericUnivariateSelectParams checked(GenericUnivariateSelectParams params) {
  const auto* number = std::get_if<double>(&params.param.data);
  if (params.mode == "k_best") {
    if (number && *number != std::floor(*number))
      refuse_param(kName, "param", params.param, "must be a whole number or 'all' with mode 'k_best'");
  } else if (!number) {
    refuse_param(kName, "param", params.param, "must be a number with mode '" + params.mode + "'");
  } else if (params.mode == "percentile" && *number > 100) {
    refuse_param(kName, "param", params.param, "must be at most 100 with mode 'percentile'");
  }
  return params;
}

}   // namespace

template <class T>
GenericUnivariateSelect<T>::GenericUnivariateSelect(const schema::ValueMap& params)
    : GenericUnivariateSelect(checked(param_set().parse(params))) {}
template <class T>
GenericUnivariateSelect<T>::GenericUnivariateSelect(GenericUnivariateSelectParams params)
    : ScoreSelector<T>(kName, params.score_func), params_(std::move(params)) {}

template <class T>
schema::EstimatorInfo GenericUnivariateSelect<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Keep columns by their scores, in a way that mode names.",
          .params = param_set().infos(),
          .attributes = {"scores_", "pvalues_"},
          .deviations = {kNoMutualInfo, kExactSums}};
}

template <class T>
std::vector<bool> GenericUnivariateSelect<T>::support(const Context& ctx, const FeatureScores& found) const {
  if (params_.mode == "k_best") {
    const std::int64_t k = count_of(params_.param);
    if (std::holds_alternative<double>(params_.param.data)) warn_of_many(ctx, kName, "param", k, found.scores.size());
    return best_columns(found.scores, k);
  }
  const double number = std::get<double>(params_.param.data);
  if (params_.mode == "percentile") return best_share(found.scores, number);
  const ErrorRate rate = params_.mode == "fpr"   ? ErrorRate::kFalsePositives
                         : params_.mode == "fdr" ? ErrorRate::kFalseDiscoveries
                                                 : ErrorRate::kFamilyWise;
  std::vector<bool> mask = below_rate(found.p_values, rate, number);
  warn_of_none(ctx, kName, "param", mask);
  return mask;
}

template class GenericUnivariateSelect<float>;
template class GenericUnivariateSelect<double>;

}   // namespace kedge::engine
