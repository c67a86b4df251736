// LogisticRegression: L-BFGS on the host over a loss that is evaluated on the device.
#include "engine/estimators/logistic_regression.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "engine/estimators/checks.h"
#include "engine/estimators/lbfgs.h"
#include "engine/estimators/logistic_objective.h"

namespace kedge::engine {
namespace {

using P = LogisticRegressionParams;
constexpr const char* kName = "LogisticRegression";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("penalty", &P::penalty, {string_form({"l2"}), null_form()}, "l2, or null for none.")
          .add("C", &P::C, above(0), "Inverse of the strength of the penalty.")
          .add("l1_ratio", &P::l1_ratio, between(0, 1), "Share of the L1 penalty; only 0 is implemented.")
          .add("dual", &P::dual, "Only false: the primal problem is solved.")
          .add("tol", &P::tol, at_least(0), "Stop when no element of the gradient is larger.")
          .add("fit_intercept", &P::fit_intercept, "Add an intercept, which is not penalised.")
          .ignore("intercept_scaling", 1.0, {number_form(above(0))})
          .any("class_weight", &P::class_weight, class_weight_forms(),
               "Weight of each class: an object by class name, balanced, or null for 1 each.")
          .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
          .add("solver", &P::solver, {"lbfgs"}, "How the minimum is found.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of iterations.")
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .ignore("warm_start", false, {boolean_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

// The class weight of each row, on the device; empty if all weigh 1. Their sum goes to `sum`.
Array<double> row_weights(const Context& ctx, const std::vector<double>& by_class, const PresentClasses& present,
                          const Target& y, double& sum) {
  sum = static_cast<double>(y.codes.size());
  if (by_class.empty()) return {};
  std::vector<double> rows(y.codes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = by_class[present.positions[y.codes[i]]];
  sum = std::accumulate(rows.begin(), rows.end(), 0.0);
  return Array<double>(ctx.memory(), std::span<const double>(rows));
}

// scikit-learn's 64 eps. In double a smaller tol is taken at its word (the value above the minimum falls with the square of the
// gradient); in float the loss carries no more digits.
template <class T>
double value_tolerance(double tol) {
  constexpr double kUsual = 64 * std::numeric_limits<double>::epsilon();
  return std::is_same_v<T, double> && tol * tol < kUsual ? 0.0 : kUsual;
}

}  // namespace

template <class T>
LogisticRegression<T>::LogisticRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_class_weight(kName, params_.class_weight);
  if (params_.l1_ratio != 0) refuse_param(kName, "l1_ratio", params_.l1_ratio, "must be 0: the L1 penalty is not implemented");
  if (params_.dual) refuse_param(kName, "dual", params_.dual, "must be false: solver lbfgs solves the primal problem");
}

template <class T>
schema::EstimatorInfo LogisticRegression<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "linear_model",
          .doc = "Logistic regression with an L2 penalty, multinomial for three classes and more.",
          .params = param_set().infos(),
          .attributes = {"classes_", "coef_", "intercept_", "n_iter_"},
          .deviations = {"Only solver lbfgs with the L2 penalty or none is implemented.",
                         "No penalty is written penalty = null; C has no infinity in JSON."}};
}

template <class T>
void LogisticRegression<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData, "{}: the target has only the class \"{}\", needs at least 2",
          kName, present_.names.empty() ? "" : present_.names[0]);
  n_features_ = X.n_cols();
  Matrix<T> scratch;
  const std::vector<double> w = minimize(ctx, X.values(ctx, scratch), y);
  const std::int64_t rows = present_.size() == 2 ? 1 : present_.size();
  coef_.assign(w.begin(), w.begin() + rows * n_features_);
  intercept_.assign(w.begin() + rows * n_features_, w.end());
  intercept_.resize(static_cast<std::size_t>(rows), 0.0);
}

template <class T>
std::vector<double> LogisticRegression<T>::minimize(const Context& ctx, MatrixView<const T> X, const Target& y) {
  const Array<std::int32_t> positions = device_positions(ctx, present_, y);
  LogisticData<T> data{.X = X, .y = positions.view(), .n_classes = present_.size()};
  const Array<double> weights =
      row_weights(ctx, class_weights(kName, params_.class_weight, present_, y), present_, y, data.weight_sum);
  data.weights = weights.view();
  require(data.weight_sum > 0, schema::ErrorCode::kInvalidValue, "{}: class_weight gives every row the weight 0", kName);
  const double l2 = params_.penalty ? 1.0 / (params_.C * data.weight_sum) : 0.0;
  LogisticObjective<T> objective(ctx, data, l2, params_.fit_intercept);
  const LbfgsOptions options{.max_iter = params_.max_iter, .gradient_tolerance = params_.tol,
                             .value_tolerance = value_tolerance<T>(params_.tol)};
  const auto evaluate = [&](std::span<const double> w, std::span<double> gradient) {
    ctx.check_stop();
    return objective(w, gradient);
  };
  const auto report = [&](std::int64_t done) { ctx.progress("iterations", done, params_.max_iter, "iterations"); };
  LbfgsResult result = minimize_lbfgs(evaluate, std::vector<double>(objective.size()), options, report);
  n_iter_ = result.iterations;
  if (result.stop == LbfgsResult::Stop::kMaxIter)
    ctx.warn(fmt::format("{}: did not converge within max_iter = {} iterations; scale the data or raise max_iter", kName,
                         params_.max_iter));
  if (result.stop == LbfgsResult::Stop::kLineSearch)
    ctx.warn(fmt::format("{}: the line search stopped after {} iterations; scale the data", kName, n_iter_));
  return std::move(result.x);
}

// For two classes the first column is 0 and the second the decision function.
template <class T>
Matrix<T> LogisticRegression<T>::margins(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t rows = static_cast<std::int64_t>(intercept_.size()), skipped = present_.size() - rows;
  const std::vector<T> host_coef(coef_.begin(), coef_.end()), host_intercept(intercept_.begin(), intercept_.end());
  const Matrix<T> coef(ctx.memory(), rows, n_features_, host_coef);
  const Array<T> intercept(ctx.memory(), std::span<const T>(host_intercept));
  Matrix<T> scratch, Z(ctx.memory(), X.n_rows(), present_.size());
  if (skipped) Z.zero();
  const MatrixView<T> columns(Z.data() + skipped, X.n_rows(), rows, present_.size());
  ctx.ops<T>().gemm(Transpose::kNo, Transpose::kYes, T{1}, X.values(ctx, scratch), coef.view(), T{0}, columns);
  ctx.ops<T>().add_to_rows(intercept.view(), columns);
  return Z;
}

template <class T>
void LogisticRegression<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<T> Z = margins(ctx, X);
  spread_scores(ctx, present_, Z.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().softmax_rows(proba);
}

template <class T>
std::vector<std::int32_t> LogisticRegression<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const Matrix<T> Z = margins(ctx, X);
  return best_codes(ctx, present_, Z.view());
}

template <class T>
schema::ValueMap LogisticRegression<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"coef_", rows_value(coef_, n_features_)},
          {"intercept_", intercept_},
          {"n_iter_", schema::ValueList{n_iter_}}};
}

template class LogisticRegression<float>;
template class LogisticRegression<double>;

}  // namespace kedge::engine
