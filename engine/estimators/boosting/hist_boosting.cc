// The estimators of histogram gradient boosting: their targets, and what they make of raw predictions.
#include "engine/estimators/boosting/hist_boosting.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/boosting/class_rows.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr const char* kClassifier = "HistGradientBoostingClassifier";
constexpr const char* kRegressor = "HistGradientBoostingRegressor";

std::vector<std::string> attribute_names(bool classes) {
  std::vector<std::string> names{"n_iter_",      "n_trees_per_iteration_", "do_early_stopping_",
                                 "train_score_", "validation_score_",      "is_categorical_"};
  if (classes) names.emplace_back("classes_");
  return names;
}

std::vector<std::string> deviations(bool classes) {
  std::vector<std::string> list{
      "Gradients are rounded before they are added up: to float32 up to 8,192 fitted rows, as in scikit-learn, beyond "
      "to 15 bits; cuts whose gains are nearly equal may be chosen otherwise. Leaves predict by exact sums.",
      "max_features below 1 draws columns otherwise than numpy. Rows that validate, and those that make bins beyond "
      "200,000 rows, are scikit-learn's for the same random_state.",
      "categorical_features \"from_dtype\" takes the nominal columns of the data set. interaction_cst counts columns "
      "as the data set does; scikit-learn counts those with categories first.",
      "scoring only \"loss\"; warm_start only false; verbose is ignored."};
  if (classes) list.emplace_back("With one class in the rows, its probability is 1; scikit-learn gives nearly 1.");
  return list;
}

void require_weight(const char* owner, const std::vector<double>& weights) {
  require(weights.empty() || std::accumulate(weights.begin(), weights.end(), 0.0) > 0, ErrorCode::kBadData,
          "{}: the weights of the rows sum to 0, must be more", owner);
}

BoostLoss loss_of(const std::string& name) {
  if (name == "absolute_error") return BoostLoss::kAbsolute;
  if (name == "quantile") return BoostLoss::kQuantile;
  if (name == "poisson") return BoostLoss::kPoisson;
  return name == "gamma" ? BoostLoss::kGamma : BoostLoss::kSquared;
}

}   // namespace

template <class T>
HistGradientBoostingClassifier<T>::HistGradientBoostingClassifier(const schema::ValueMap& params)
    : params_(hist_classifier_params().parse(params)) {
  check_hist_params(kClassifier, params_);
}

template <class T>
schema::EstimatorInfo HistGradientBoostingClassifier<T>::info() {
  return {
      .name = kClassifier,
      .kind = "classifier",
      .family = "ensemble",
      .doc =
          "Gradient boosting: trees on binned columns, each fitted to what those before it leave. Takes missing values "
          "and categories.",
      .params = hist_classifier_params().infos(),
      .attributes = attribute_names(true),
      .deviations = deviations(true)};
}

template <class T>
void HistGradientBoostingClassifier<T>::announce(WorkCache& plan, const std::string& content) const {
  HistModel<T>::announce(plan, content, kClassifier, params_);
}

template <class T>
void HistGradientBoostingClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kClassifier, X);
  present_ = PresentClasses(y);
  HistTarget target{.loss = present_.size() > 2 ? BoostLoss::kMultinomial : BoostLoss::kBinomial,
                    .weights = y.weights,
                    .codes = y.codes,
                    .n_classes = y.n_classes()};
  target.n_outputs = present_.size() > 2 ? present_.size() : 1;
  for (const std::int32_t code : y.codes) target.y.push_back(present_.positions[static_cast<std::size_t>(code)]);
  const std::vector<double> by_class = class_weights(kClassifier, params_.class_weight, present_, y);
  if (!by_class.empty()) {
    target.weights.resize(target.y.size(), 1.0);
    for (std::size_t i = 0; i < target.y.size(); ++i)
      target.weights[i] *= by_class[static_cast<std::size_t>(target.y[i])];
  }
  require_weight(kClassifier, target.weights);
  model_.fit(ctx, kClassifier, params_, X, target);
}

template <class T>
void HistGradientBoostingClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X,
                                                      MatrixView<double> proba) const {
  std::vector<double> shares = model_.raw(ctx, kClassifier, X);
  const std::int32_t n = model_.n_outputs();
  boost_link(n > 1 ? BoostLoss::kMultinomial : BoostLoss::kBinomial, n, shares);
  if (present_.size() == 1) std::ranges::fill(shares, 1.0);
  if (present_.size() == 2) {   // of the second class alone until now
    std::vector<double> first(shares.size());
    std::ranges::transform(shares, first.begin(), [](double share) { return 1 - share; });
    shares.insert(shares.begin(), first.begin(), first.end());
  }
  put_rows(ctx, present_, shares, 0.0, proba);
}

// Rows whose two classes are equally likely are of the first, as in scikit-learn.
template <class T>
std::vector<std::int32_t> HistGradientBoostingClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> raw = model_.raw(ctx, kClassifier, X);
  const auto n = static_cast<std::size_t>(X.n_rows());
  std::vector<std::int32_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t best = 0;
    if (present_.size() == 2) best = raw[i] > 0 ? 1 : 0;
    for (std::size_t k = 1; present_.size() > 2 && k < present_.codes.size(); ++k)
      if (raw[k * n + i] > raw[best * n + i]) best = k;
    codes[i] = present_.codes[best];
  }
  return codes;
}

template <class T>
void HistGradientBoostingClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                                          MatrixView<double> decision) const {
  std::vector<double> raw = model_.raw(ctx, kClassifier, X);
  if (decision.cols != 1) {
    if (present_.size() == 2) raw.insert(raw.begin(), raw.size(), 0.0);   // of a data set with more classes
    return put_rows(ctx, present_, raw, -std::numeric_limits<double>::infinity(), decision);
  }
  if (present_.size() == 1) std::ranges::fill(raw, present_.codes[0] == 1 ? 1.0 : -1.0);
  if (!raw.empty()) ctx.memory().to_device(decision.data, raw.data(), raw.size() * sizeof(double));
}

template <class T>
schema::ValueMap HistGradientBoostingClassifier<T>::attributes() const {
  schema::ValueMap map{{"classes_", present_.names_value()}};
  model_.append_attributes(map);
  return map;
}

template <class T>
void HistGradientBoostingClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  model_.state(archive, present_.size());
  archive.expect(model_.n_outputs() == (present_.size() > 2 ? present_.size() : 1), "n_outputs",
                 "does not fit the classes");
}

template <class T>
HistGradientBoostingRegressor<T>::HistGradientBoostingRegressor(const schema::ValueMap& params)
    : params_(hist_regressor_params().parse(params)) {
  check_hist_params(kRegressor, params_);
}

template <class T>
schema::EstimatorInfo HistGradientBoostingRegressor<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "ensemble",
          .doc =
              "Gradient boosting of values: trees on binned columns, each fitted to what those before it leave. Takes "
              "missing values and categories.",
          .params = hist_regressor_params().infos(),
          .attributes = attribute_names(false),
          .deviations = deviations(false)};
}

template <class T>
void HistGradientBoostingRegressor<T>::announce(WorkCache& plan, const std::string& content) const {
  HistModel<T>::announce(plan, content, kRegressor, params_);
}

template <class T>
void HistGradientBoostingRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRegressor, X);
  require_weight(kRegressor, y.weights);
  const BoostLoss loss = loss_of(params_.loss);
  if (loss == BoostLoss::kPoisson) {
    require(std::ranges::all_of(y.values, [](double v) { return v >= 0; }), ErrorCode::kBadData,
            "{}: the target has negative values, loss poisson needs at least 0", kRegressor);
    require(std::ranges::any_of(y.values, [](double v) { return v > 0; }), ErrorCode::kBadData,
            "{}: the target is 0 everywhere, loss poisson needs more", kRegressor);
  }
  if (loss == BoostLoss::kGamma)
    require(std::ranges::all_of(y.values, [](double v) { return v > 0; }), ErrorCode::kBadData,
            "{}: the target has values up to 0, loss gamma needs more", kRegressor);
  model_.fit(
      ctx, kRegressor, params_, X,
      {.loss = loss, .quantile = params_.quantile.value_or(0.5), .y = y.values, .weights = y.weights, .codes = {}});
}

template <class T>
std::vector<double> HistGradientBoostingRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> outputs = model_.raw(ctx, kRegressor, X);
  boost_link(loss_of(params_.loss), 1, outputs);
  return outputs;
}

template <class T>
schema::ValueMap HistGradientBoostingRegressor<T>::attributes() const {
  schema::ValueMap map;
  model_.append_attributes(map);
  return map;
}

template <class T>
void HistGradientBoostingRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, 1);
}

template <class T>
Contributions HistGradientBoostingClassifier<T>::contributions(const Context& ctx, const Samples<T>& X,
                                                               const Division<T>& division) const {
  return model_.contributions(ctx, kClassifier, X, division);
}

template <class T>
Contributions HistGradientBoostingRegressor<T>::contributions(const Context& ctx, const Samples<T>& X,
                                                              const Division<T>& division) const {
  return model_.contributions(ctx, kRegressor, X, division);
}

template class HistGradientBoostingClassifier<float>;
template class HistGradientBoostingClassifier<double>;
template class HistGradientBoostingRegressor<float>;
template class HistGradientBoostingRegressor<double>;

}   // namespace kedge::engine
