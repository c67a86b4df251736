// The estimators of exact gradient boosting: their targets, and what they make of raw predictions.
#include "engine/estimators/boosting/gradient_boosting.h"

#include <algorithm>
#include <limits>

#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/boosting/class_rows.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr const char *kClassifier = "GradientBoostingClassifier", *kRegressor = "GradientBoostingRegressor";

std::vector<std::string> attribute_names(bool classes) {
  std::vector<std::string> names{"feature_importances_", "max_features_",    "n_estimators_", "n_trees_per_iteration_",
                                 "train_score_",         "oob_improvement_", "oob_scores_",   "oob_score_"};
  if (classes) names.insert(names.end(), {"classes_", "n_classes_"});
  return names;
}

std::vector<std::string> deviations() {
  return {
      "init is null or \"zero\", not an estimator; warm_start and verbose are ignored, and so is criterion, as in "
      "scikit-learn.",
      "Cuts whose gains are equal up to rounding may be chosen otherwise, above all where rows have equal values."};
}

}   // namespace

template <class T>
schema::EstimatorInfo GradientBoostingClassifier<T>::info() {
  return {
      .name = kClassifier,
      .kind = "classifier",
      .family = "ensemble",
      .doc =
          "Gradient boosting of classes: small trees on all cuts of all columns, each fitted to the slopes of the loss.",
      .params = gradient_classifier_params().infos(),
      .attributes = attribute_names(true),
      .deviations = deviations()};
}

template <class T>
StageLoss GradientBoostingClassifier<T>::loss() const {
  if (params_.loss == "exponential") return {.kind = GradientLoss::kExponential};
  if (present_.size() <= 2) return {.kind = GradientLoss::kBinomial};
  return {.kind = GradientLoss::kMultinomial, .n_outputs = present_.size()};
}

template <class T>
void GradientBoostingClassifier<T>::announce(WorkCache& plan, const std::string& content) const {
  GradientModel<T>::announce(plan, content, kClassifier, params_);
}

template <class T>
void GradientBoostingClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kClassifier, X);
  present_ = PresentClasses(y);
  const std::vector<double> totals = class_totals(present_, y);
  const auto n_weighted = std::ranges::count_if(totals, [](double total) { return total > 0; });
  require(n_weighted >= 2, ErrorCode::kBadData, "{}: the target has {} class{} with weight, needs at least 2",
          kClassifier, n_weighted, n_weighted == 1 ? "" : "es");
  require(params_.loss != "exponential" || present_.size() == 2, ErrorCode::kBadData,
          "{}: loss \"exponential\" takes 2 classes, the target has {}", kClassifier, present_.size());
  GradientTarget target{.owner = kClassifier, .loss = loss(), .weights = y.weights, .n_classes = present_.size()};
  for (const std::int32_t code : y.codes) target.codes.push_back(present_.positions[static_cast<std::size_t>(code)]);
  target.y.assign(target.codes.begin(), target.codes.end());
  model_.fit(ctx, params_, X, target);
  model_.require_finite(kClassifier);
}

template <class T>
void GradientBoostingClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X,
                                                  MatrixView<double> proba) const {
  std::vector<double> shares = model_.raw(ctx, kClassifier, X);
  model_.loss().to_shares(shares);
  if (present_.size() == 2) {
    std::vector<double> first(shares.size());
    std::ranges::transform(shares, first.begin(), [](double share) { return 1 - share; });
    shares.insert(shares.begin(), first.begin(), first.end());
  }
  put_rows(ctx, present_, shares, 0.0, proba);
}

template <class T>
void GradientBoostingClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                                      MatrixView<double> decision) const {
  std::vector<double> raw = model_.raw(ctx, kClassifier, X);
  if (decision.cols != 1) {
    if (present_.size() == 2) raw.insert(raw.begin(), raw.size(), 0.0);   // of a data set with more classes
    return put_rows(ctx, present_, raw, -std::numeric_limits<double>::infinity(), decision);
  }
  if (!raw.empty()) ctx.memory().to_device(decision.data, raw.data(), raw.size() * sizeof(double));
}

// Of two classes the second where both are equally likely, as in scikit-learn.
template <class T>
std::vector<std::int32_t> GradientBoostingClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> raw = model_.raw(ctx, kClassifier, X);
  const auto n = static_cast<std::size_t>(X.n_rows());
  std::vector<std::int32_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t best = present_.size() == 2 && raw[i] >= 0 ? 1 : 0;
    for (std::size_t k = 1; present_.size() > 2 && k < present_.codes.size(); ++k)
      if (raw[k * n + i] > raw[best * n + i]) best = k;
    codes[i] = present_.codes[best];
  }
  return codes;
}

template <class T>
schema::ValueMap GradientBoostingClassifier<T>::attributes() const {
  schema::ValueMap map = model_.attributes();
  map.emplace_back("classes_", present_.names_value());
  map.emplace_back("n_classes_", std::int64_t{present_.size()});
  return map;
}

template <class T>
void GradientBoostingClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  archive.expect(present_.size() >= 2, "codes", "names fewer than 2 classes");
  archive.expect(params_.loss != "exponential" || present_.size() == 2, "codes", "does not fit the loss");
  model_.state(archive, loss(), params_);
}

template <class T>
schema::EstimatorInfo GradientBoostingRegressor<T>::info() {
  return {
      .name = kRegressor,
      .kind = "regressor",
      .family = "ensemble",
      .doc =
          "Gradient boosting of values: small trees on all cuts of all columns, each fitted to the slopes of the loss.",
      .params = gradient_regressor_params().infos(),
      .attributes = attribute_names(false),
      .deviations = deviations()};
}

template <class T>
StageLoss GradientBoostingRegressor<T>::loss() const {
  StageLoss loss{.alpha = params_.alpha};
  if (params_.loss == "absolute_error") loss.kind = GradientLoss::kAbsolute;
  if (params_.loss == "huber") loss.kind = GradientLoss::kHuber;
  if (params_.loss == "quantile") loss.kind = GradientLoss::kQuantile;
  return loss;
}

template <class T>
void GradientBoostingRegressor<T>::announce(WorkCache& plan, const std::string& content) const {
  GradientModel<T>::announce(plan, content, kRegressor, params_);
}

template <class T>
void GradientBoostingRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  model_.fit(ctx, params_, X, {.owner = kRegressor, .loss = loss(), .y = y.values, .weights = y.weights});
  model_.require_finite(kRegressor);
}

template <class T>
std::vector<double> GradientBoostingRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return model_.raw(ctx, kRegressor, X);
}

template <class T>
void GradientBoostingRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, loss(), params_);
}

template <class T>
Contributions GradientBoostingClassifier<T>::contributions(const Context& ctx, const Samples<T>& X,
                                                           const Division<T>& division) const {
  return model_.contributions(ctx, kClassifier, X, division);
}

template <class T>
Contributions GradientBoostingRegressor<T>::contributions(const Context& ctx, const Samples<T>& X,
                                                          const Division<T>& division) const {
  return model_.contributions(ctx, kRegressor, X, division);
}

template class GradientBoostingClassifier<float>;
template class GradientBoostingClassifier<double>;
template class GradientBoostingRegressor<float>;
template class GradientBoostingRegressor<double>;

}   // namespace kedge::engine
