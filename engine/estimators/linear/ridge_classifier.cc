// RidgeClassifier: targets of the classes, weights, and scores.
#include "engine/estimators/linear/ridge_classifier.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/class_signs.h"

namespace kedge::engine {
namespace {

using P = RidgeClassifierParams;
constexpr const char* kName = "RidgeClassifier";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    add_ridge_params(made).any("class_weight", &P::class_weight, class_weight_forms(),
                               "Weight of each class: an object by class name, balanced, or null for 1 each.");
    add_ridge_solver_params(made);
    return made;
  }();
  return set;
}

}   // namespace

template <class T>
RidgeClassifier<T>::RidgeClassifier(const schema::ValueMap& params)
    : params_(param_set().parse(params)), alphas_(check_ridge_options(kName, params_)) {
  check_class_weight(kName, params_.class_weight);
}

template <class T>
schema::EstimatorInfo RidgeClassifier<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "linear_model",
          .doc = "Classification by ridge regression on -1 and 1.",
          .params = param_set().infos(),
          .attributes = {"classes_", "coef_", "intercept_", "n_iter_", "solver_"},
          .deviations = ridge_deviations()};
}

template <class T>
void RidgeClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(ctx, y);
  n_features_ = X.n_cols();
  const std::vector<double> by_class = class_weights(kName, params_.class_weight, present_, y);
  model_.fit(ctx, kName, X, schema::to_string(params_.class_weight), params_, alphas_, [&] {
    RidgeTargets targets{.own_Y = device_class_signs(ctx, present_, y),
                         .own_weights = RowWeights(ctx, by_class, present_, y)};
    targets.Y = std::as_const(targets.own_Y).view(), targets.weights = targets.own_weights->view();
    return targets;
  });
}

template <class T>
void RidgeClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  sign_decision(ctx, present_, model_.host_values(ctx, X), decision);
}

template <class T>
std::vector<std::int32_t> RidgeClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  if (present_.size() <= 2) return Classifier<T>::predict(ctx, X);
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return best_codes(ctx, present_, model_.values(ctx, X).view);
}

template <class T>
schema::ValueMap RidgeClassifier<T>::attributes() const {
  const RidgeSolution& found = model_.solution();
  const bool one = found.intercept.size() == 1;   // scikit-learn gives the one row of two classes as a list
  return {{"classes_", present_.names_value()},
          {"coef_", one ? schema::Value(found.coef) : rows_value(found.coef, n_features_)},
          {"intercept_", params_.fit_intercept ? schema::Value(found.intercept) : schema::Value(0.0)},
          {"n_iter_", nullptr},
          {"solver_", found.solver}};
}

template <class T>
void RidgeClassifier<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  model_.state(archive, present_.size() > 2 ? present_.size() : 1);
}

template class RidgeClassifier<float>;
template class RidgeClassifier<double>;

}   // namespace kedge::engine
