// RidgeClassifier: targets of the classes, weights, and scores.
#include "engine/estimators/linear/ridge_classifier.h"

#include <limits>

#include "engine/core/state_archive.h"
#include "engine/core/stop.h"
#include "engine/estimators/checks.h"

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

// n_rows x (1 for two classes or fewer, otherwise one a class).
std::vector<double> signs(const PresentClasses& present, const Target& y) {
  const std::int32_t targets = present.size() <= 2 ? 1 : present.size();
  std::vector<double> Y;
  Y.reserve(y.codes.size() * static_cast<std::size_t>(targets));
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    check_job_stop();
    const std::int32_t c = present.positions[static_cast<std::size_t>(y.codes[i])];
    Y.insert(Y.end(), static_cast<std::size_t>(targets), -1.0);
    if (targets > 1) Y[i * static_cast<std::size_t>(targets) + static_cast<std::size_t>(c)] = 1;
    else if (c == 1) Y[i] = 1;
  }
  return Y;
}

std::vector<double> row_weights(const std::vector<double>& by_class, const PresentClasses& present, const Target& y) {
  if (by_class.empty()) return y.weights;
  std::vector<double> weights = y.weights.empty() ? std::vector<double>(y.codes.size(), 1.0) : y.weights;
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] *= by_class[static_cast<std::size_t>(present.positions[static_cast<std::size_t>(y.codes[i])])];
  return weights;
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
  present_ = PresentClasses(y);
  n_features_ = X.n_cols();
  const std::vector<double> by_class = class_weights(kName, params_.class_weight, present_, y);
  const std::int64_t targets = present_.size() <= 2 ? 1 : present_.size();
  model_.fit(ctx, kName, X, schema::to_string(params_.class_weight), params_, alphas_,
             [&] { return RidgeTargets{signs(present_, y), targets, row_weights(by_class, present_, y)}; });
}

template <class T>
void RidgeClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  std::vector<double> scores = model_.host_values(ctx, X);
  if (present_.size() > 2) {
    const Matrix<double> values(ctx.memory(), X.n_rows(), present_.size(), scores);
    return spread_scores(ctx, present_, values.view(), -std::numeric_limits<double>::infinity(), decision);
  }
  // `scores` are of the second class, where there are two
  const bool only_second = present_.size() == 1 && present_.n_all() == 2 && present_.codes[0] == 1;
  if (present_.n_all() <= 2) {
    for (double& score : scores) score = only_second ? -score : score;
    ctx.memory().to_device(decision.data, scores.data(), scores.size() * sizeof(double));
    return;
  }
  std::vector<double> both;
  for (const double score : scores) {
    both.push_back(-score);
    if (present_.size() == 2) both.push_back(score);
  }
  const Matrix<double> spread(ctx.memory(), X.n_rows(), present_.size(), both);
  spread_scores(ctx, present_, spread.view(), -std::numeric_limits<double>::infinity(), decision);
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
