// Fits several predictors and puts their answers together.
#include "engine/estimators/meta/voting.h"

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kClassifier = "VotingClassifier";
constexpr const char* kRegressor = "VotingRegressor";

const char* const kWeightsDoc = "What the answers weigh, in the order of `estimators`; null weighs all alike.";
const char* const kEstimatorsDoc = "The estimators, {\"name\", \"estimator\"} each, or [name, estimator].";

std::vector<schema::ParamForm> weights_forms() {
  return {array_form(), null_form()};
}

const ParamSet<VotingClassifierParams>& classifier_params() {
  using P = VotingClassifierParams;
  static const ParamSet<P> set =
      ParamSet<P>(kClassifier)
          .any("estimators", &P::estimators, {named_predictors_form()}, kEstimatorsDoc)
          .add("voting", &P::voting, {"hard", "soft"}, "Count the predicted classes, or average the probabilities.")
          .any("weights", &P::weights, weights_forms(), kWeightsDoc)
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .add("flatten_transform", &P::flatten_transform, "Without effect here: this estimator only predicts.")
          .ignore("verbose", false, {boolean_form(), integer_form()});
  return set;
}

const ParamSet<VotingRegressorParams>& regressor_params() {
  using P = VotingRegressorParams;
  static const ParamSet<P> set = ParamSet<P>(kRegressor)
                                     .any("estimators", &P::estimators, {named_predictors_form()}, kEstimatorsDoc)
                                     .any("weights", &P::weights, weights_forms(), kWeightsDoc)
                                     .ignore("n_jobs", nullptr, {integer_form(), null_form()})
                                     .ignore("verbose", false, {boolean_form(), integer_form()});
  return set;
}

double total(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

// The weights of the estimators that are not dropped; not all 0.
std::vector<double> weights_of(const char* owner, const Value& estimators, const Value& weights) {
  const std::vector<NamedValue> named = named_values(owner, "estimators", "estimator", estimators);
  std::vector<double> all(named.size(), 1.0), kept;
  if (!weights.is_null()) {
    all = numbers_of(weights).value_or(std::vector<double>{});
    const bool is_usable =
        all.size() == named.size() && std::ranges::all_of(all, [](double w) { return w >= 0 && w < 1e300; });
    if (!is_usable) refuse_param(owner, "weights", weights, "must have a number of at least 0 for each estimator");
  }
  for (std::size_t i = 0; i < named.size(); ++i)
    if (!is_dropped(named[i].value)) kept.push_back(all[i]);
  if (!kept.empty() && total(kept) <= 0) refuse_param(owner, "weights", weights, "must not all be 0");
  return kept;
}

template <class T>
void fit_all(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y,
             std::vector<NamedPredictor<T>>& predictors) {
  require_rows(owner, X);
  require(!predictors.empty(), schema::ErrorCode::kBadData, "{}: has no estimator", owner);
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return predictors[i].predictor; });
  for (const NamedPredictor<T>& one : predictors) fits.planned.push_back(one.predictor.planned(X.n_rows(), X.n_cols()));
  fits.fit = [&](const Context& inner, std::size_t i) {
    predictors[i].predictor.fit(inner, predictors[i].owner, X, y);
  };
  deal_fits(ctx, fits);
}

template <class T>
bool all_take_weights(const std::vector<NamedPredictor<T>>& predictors) {
  return std::ranges::all_of(predictors, [](const auto& one) { return one.predictor.takes_weights(); });
}

}   // namespace

template <class T>
VotingClassifier<T>::VotingClassifier(const schema::ValueMap& params)
    : params_(classifier_params().parse(params)),
      predictors_(named_predictors<T>(kClassifier, params_.estimators, NestedPredictor<T>::Kind::kClassifier)),
      weights_(weights_of(kClassifier, params_.estimators, params_.weights)) {
  for (const NamedPredictor<T>& one : predictors_)
    if (has_proba() && !one.predictor.has_proba())
      refuse_param(kClassifier, "voting", params_.voting,
                   fmt::format("but '{}' ({}) gives no probabilities", one.name, one.predictor.estimator()));
}

template <class T>
schema::EstimatorInfo VotingClassifier<T>::info() {
  return {.name = kClassifier,
          .kind = "classifier",
          .family = "ensemble",
          .doc = "Let several classifiers vote, or average their probabilities.",
          .params = classifier_params().infos(),
          .attributes = {"classes_", "named_estimators_"},
          .deviations = {"estimators is a list of objects, or of lists in place of tuples.", "There is no transform."}};
}

template <class T>
bool VotingClassifier<T>::takes_weights() const {
  return all_take_weights(predictors_);
}

template <class T>
void VotingClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  fit_all(ctx, kClassifier, X, y, predictors_);
  classes_ = y.classes;
}

template <class T>
std::vector<double> VotingClassifier<T>::scores(const Context& ctx, const Samples<T>& X) const {
  const std::size_t n_rows = static_cast<std::size_t>(X.n_rows()), n_classes = classes_.size();
  std::vector<double> sums(n_rows * n_classes);
  for (std::size_t k = 0; k < predictors_.size(); ++k) {
    const NamedPredictor<T>& one = predictors_[k];
    if (has_proba()) {
      const std::vector<double> proba = one.predictor.proba(ctx, one.owner, X);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weights_[k] * proba[i];
    } else {
      const std::vector<std::int32_t> codes = one.predictor.codes(ctx, one.owner, X);
      for (std::size_t i = 0; i < n_rows; ++i) sums[i * n_classes + static_cast<std::size_t>(codes[i])] += weights_[k];
    }
  }
  return sums;
}

template <class T>
void VotingClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  std::vector<double> means = scores(ctx, X);
  for (double& mean : means) mean /= total(weights_);
  if (!means.empty()) ctx.memory().to_device(proba.data, means.data(), means.size() * sizeof(double));
}

template <class T>
std::vector<std::int32_t> VotingClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> all = scores(ctx, X);
  std::vector<std::int32_t> codes(static_cast<std::size_t>(X.n_rows()));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(i * classes_.size());
    codes[i] =
        static_cast<std::int32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(classes_.size())) - row);
  }
  return codes;
}

template <class T>
schema::ValueMap VotingClassifier<T>::attributes() const {
  return {{"classes_", schema::ValueList(classes_.begin(), classes_.end())},
          {"named_estimators_", attributes_by_name(predictors_)}};
}

template <class T>
void VotingClassifier<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  state_of(archive, predictors_);
}

template <class T>
VotingRegressor<T>::VotingRegressor(const schema::ValueMap& params)
    : params_(regressor_params().parse(params)),
      predictors_(named_predictors<T>(kRegressor, params_.estimators, NestedPredictor<T>::Kind::kRegressor)),
      weights_(weights_of(kRegressor, params_.estimators, params_.weights)) {}

template <class T>
schema::EstimatorInfo VotingRegressor<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "ensemble",
          .doc = "Average what several regressors predict.",
          .params = regressor_params().infos(),
          .attributes = {"named_estimators_"},
          .deviations = {"estimators is a list of objects, or of lists in place of tuples.", "There is no transform."}};
}

template <class T>
bool VotingRegressor<T>::takes_weights() const {
  return all_take_weights(predictors_);
}

template <class T>
void VotingRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  fit_all(ctx, kRegressor, X, y, predictors_);
}

template <class T>
std::vector<double> VotingRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> mean(static_cast<std::size_t>(X.n_rows()));
  for (std::size_t k = 0; k < predictors_.size(); ++k) {
    const std::vector<double> values = predictors_[k].predictor.values(ctx, predictors_[k].owner, X);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weights_[k] * values[i];
  }
  for (double& value : mean) value /= total(weights_);
  return mean;
}

template <class T>
schema::ValueMap VotingRegressor<T>::attributes() const {
  return {{"named_estimators_", attributes_by_name(predictors_)}};
}

template <class T>
void VotingRegressor<T>::state(StateArchive& archive) {
  state_of(archive, predictors_);
}

template class VotingClassifier<float>;
template class VotingClassifier<double>;
template class VotingRegressor<float>;
template class VotingRegressor<double>;

}   // namespace kedge::engine
