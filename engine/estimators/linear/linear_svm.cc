// LinearSVC and LinearSVR: parameters, classes, and the line of each.
#include "engine/estimators/linear/linear_svm.h"

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/class_signs.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/linear_svm_solver.h"

namespace kedge::engine {
namespace {

constexpr const char *kClassifier = "LinearSVC", *kRegressor = "LinearSVR";

template <class P>
ParamSet<P>& add_svm_params(ParamSet<P>& set) {
  return set.add("C", static_cast<double P::*>(&P::C), above(0), "Inverse of the strength of the penalty.")
      .add("fit_intercept", static_cast<bool P::*>(&P::fit_intercept), "Fit an intercept, which is penalised.")
      .add("intercept_scaling", static_cast<double P::*>(&P::intercept_scaling), above(0),
           "The intercept is penalised divided by this.")
      .any("dual", static_cast<schema::Value P::*>(&P::dual), {boolean_form(), string_form({"auto"})},
           "Has no influence on the answer, but is checked as scikit-learn does.")
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
      .add("tol", static_cast<double P::*>(&P::tol), above(0),
           "Has no influence: iterations go on to a relative gap of 1e-9.")
      .add("max_iter", static_cast<std::int64_t P::*>(&P::max_iter), at_least(0), "Largest number of iterations.");
}

const ParamSet<LinearSVCParams>& classifier_params() {
  using P = LinearSVCParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kClassifier);
    made.add("penalty", &P::penalty, {"l1", "l2"}, "Which norm of the coefficients is penalised.")
        .add("loss", &P::loss, {"hinge", "squared_hinge"}, "Of a row on the wrong side of its margin.")
        .add("multi_class", &P::multi_class, {"ovr"}, "ovr: one line a class, against all others.")
        .any("class_weight", &P::class_weight, class_weight_forms(),
             "Weight of each class: an object by class name, balanced, or null for 1 each.");
    add_svm_params(made);
    return made;
  }();
  return set;
}

const ParamSet<LinearSVRParams>& regressor_params() {
  using P = LinearSVRParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kRegressor);
    made.add("epsilon", &P::epsilon, at_least(0), "Half the width of the tube in which rows have no loss.")
        .add("loss", &P::loss, {"epsilon_insensitive", "squared_epsilon_insensitive"}, "Of a row outside of the tube.");
    add_svm_params(made);
    return made;
  }();
  return set;
}

std::vector<std::string> svm_deviations() {
  return {
      "LIBLINEAR's objective is minimised in the primal, to a relative duality gap of 1e-9 or to rounding, for any tol, dual and "
      "random_state; n_iter_ counts those iterations.",
      "multi_class crammer_singer is not there.", "Sparse data are made dense.", "float32 input is solved in double."};
}

bool is_true(const schema::Value& value) {
  const bool* const flag = std::get_if<bool>(&value.data);
  return flag && *flag;
}
bool is_false(const schema::Value& value) {
  const bool* const flag = std::get_if<bool>(&value.data);
  return flag && !*flag;
}

SvmOptions options_of(const LinearSvmParams& params) {
  return {.C = params.C,
          .intercept_scaling = params.fit_intercept ? params.intercept_scaling : 0.0,
          .max_iter = params.max_iter};
}

void require_weights(const char* owner, const std::vector<double>& weights) {
  require(weights.empty() || std::accumulate(weights.begin(), weights.end(), 0.0) > 0, schema::ErrorCode::kBadData,
          "{}: the sample weights sum to 0, must be more", owner);
}

}   // namespace

template <class T>
LinearSVC<T>::LinearSVC(const schema::ValueMap& params) : params_(classifier_params().parse(params)) {
  check_class_weight(kClassifier, params_.class_weight);
  if (params_.penalty == "l1" && params_.loss == "hinge")
    refuse_param(kClassifier, "loss", params_.loss, "must be squared_hinge for the penalty l1");
  if (params_.penalty == "l1" && is_true(params_.dual))
    refuse_param(kClassifier, "dual", true, "must be false for the penalty l1");
  if (params_.loss == "hinge" && is_false(params_.dual))
    refuse_param(kClassifier, "dual", false, "must be true for the loss hinge");
}

template <class T>
schema::EstimatorInfo LinearSVC<T>::info() {
  return {.name = kClassifier,
          .kind = "classifier",
          .family = "svm",
          .doc = "Linear support vector classification.",
          .params = classifier_params().infos(),
          .attributes = {"classes_", "coef_", "intercept_", "n_iter_"},
          .deviations = svm_deviations()};
}

template <class T>
void LinearSVC<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kClassifier, X);
  present_ = PresentClasses(y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData,
          "{}: the target has only the class \"{}\", needs at least 2", kClassifier,
          present_.names.empty() ? "" : present_.names[0]);
  require_weights(kClassifier, y.weights);
  n_features_ = X.n_cols(), n_iter_ = 0;
  coef_.clear(), intercept_.clear();
  const std::vector<double> by_class = class_weights(kClassifier, params_.class_weight, present_, y);
  SvmOptions options = options_of(params_);
  options.is_squared = params_.loss == "squared_hinge", options.is_l1 = params_.penalty == "l1";
  const std::vector<double> signs = class_signs(present_, y);
  const auto targets = static_cast<std::size_t>(sign_targets(present_));
  for (std::size_t t = 0; t < targets; ++t) {
    std::vector<double> own(y.codes.size()),
        weights = targets == 1 ? class_row_weights(by_class, present_, y) : y.weights;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = signs[i * targets + t];
    if (targets > 1 && !by_class.empty()) {   // as LIBLINEAR: the others weigh 1
      weights.resize(own.size(), 1.0);
      for (std::size_t i = 0; i < own.size(); ++i) weights[i] *= own[i] > 0 ? by_class[t] : 1.0;
    }
    const SvmLine line = fit_svm(ctx, kClassifier, X, own, weights, options);
    coef_.insert(coef_.end(), line.coef.begin(), line.coef.end());
    intercept_.push_back(line.intercept), n_iter_ = std::max(n_iter_, line.n_iter);
  }
}

template <class T>
void LinearSVC<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  require_fitted_columns(kClassifier, X, static_cast<std::size_t>(n_features_));
  sign_decision(ctx, present_, linear_values(ctx, X, coef_, intercept_).to_host(), decision);
}

template <class T>
schema::ValueMap LinearSVC<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"coef_", rows_value(coef_, n_features_)},
          {"intercept_", params_.fit_intercept ? schema::Value(intercept_) : schema::Value(0.0)},
          {"n_iter_", n_iter_}};
}

template <class T>
void LinearSVC<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t targets = sign_targets(present_);
  archive.field("coef", coef_, targets, n_features_);
  archive.field("intercept", intercept_, targets);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template <class T>
LinearSVR<T>::LinearSVR(const schema::ValueMap& params) : params_(regressor_params().parse(params)) {
  if (params_.loss == "epsilon_insensitive" && is_false(params_.dual))
    refuse_param(kRegressor, "dual", false, "must be true for the loss epsilon_insensitive");
}

template <class T>
schema::EstimatorInfo LinearSVR<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "svm",
          .doc = "Linear support vector regression.",
          .params = regressor_params().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_"},
          .deviations = svm_deviations()};
}

template <class T>
void LinearSVR<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRegressor, X);
  require_weights(kRegressor, y.weights);
  SvmOptions options = options_of(params_);
  options.is_squared = params_.loss == "squared_epsilon_insensitive", options.has_tube = true,
  options.epsilon = params_.epsilon;
  SvmLine line = fit_svm(ctx, kRegressor, X, y.values, y.weights, options);
  coef_ = std::move(line.coef), intercept_ = line.intercept, n_iter_ = line.n_iter;
}

template <class T>
std::vector<double> LinearSVR<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kRegressor, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap LinearSVR<T>::attributes() const {
  return {{"coef_", coef_},
          {"intercept_", params_.fit_intercept ? schema::Value(std::vector<double>{intercept_}) : schema::Value(0.0)},
          {"n_iter_", n_iter_}};
}

template <class T>
void LinearSVR<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class LinearSVC<float>;
template class LinearSVC<double>;
template class LinearSVR<float>;
template class LinearSVR<double>;

}   // namespace kedge::engine
