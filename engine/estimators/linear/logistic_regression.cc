// LogisticRegression: reads the penalty in both of scikit-learn's spellings, weighs the rows, and hands the loss to a minimiser.
#include "engine/estimators/linear/logistic_regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/own_values.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

using P = LogisticRegressionParams;
constexpr const char* kName = "LogisticRegression";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Multiply-adds of a pass over X up to which fits are made side by side: always, and where every thread has several to make.
constexpr std::int64_t kSmallPass = std::int64_t{1} << 23, kMediumPass = std::int64_t{1} << 27;
constexpr std::int64_t kSmallMargins = std::int64_t{1} << 20;   // values that each of them keeps: 8 MB
constexpr std::size_t kSeveral = 4;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("penalty", &P::penalty, {string_form({"l1", "l2", "elasticnet", "deprecated"}), null_form()},
               "l1, l2, elasticnet, or null for none; deprecated leaves it to C and l1_ratio.")
          .any("C", &P::C, {number_form(above(0)), string_form({"inf"})}, "Inverse of the strength of the penalty; inf for none.")
          .add("l1_ratio", &P::l1_ratio, between(0, 1), "Share of the L1 penalty; null means 0.")
          .add("dual", &P::dual, "Solver liblinear with L2 only, where the minimum is the same.")
          .add("tol", &P::tol, at_least(0), "Stop when no element of the gradient is larger.")
          .add("fit_intercept", &P::fit_intercept, "Add an intercept, which only solver liblinear penalises.")
          .add("intercept_scaling", &P::intercept_scaling, above(0), "Solver liblinear penalises the intercept divided by this.")
          .any("class_weight", &P::class_weight, class_weight_forms(),
               "Weight of each class: an object by class name, balanced, or null for 1 each.")
          .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
          .add("solver", &P::solver, {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"},
               "How the minimum is found.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of iterations.")
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .ignore("warm_start", false, {boolean_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

std::string penalty_name(const P& params, double C) {
  const auto* name = std::get_if<std::string>(&params.penalty.data);
  if (!name) return "none";
  if (*name != "deprecated") return *name;
  if (std::isinf(C)) return "none";
  const double ratio = params.l1_ratio.value_or(0);
  return ratio == 0 ? "l2" : ratio == 1 ? "l1" : "elasticnet";
}

// The pairs that scikit-learn refuses.
void check_pairs(const P& params, const std::string& penalty) {
  const std::string& solver = params.solver;
  const bool has_l1 = penalty == "l1" || penalty == "elasticnet";
  if (has_l1 && solver != "liblinear" && solver != "saga")
    refuse_param(kName, "solver", solver, "must be saga or liblinear for the penalty " + penalty);
  if (penalty == "elasticnet" && solver != "saga")
    refuse_param(kName, "solver", solver, "must be saga for the penalty elasticnet");
  if (penalty == "elasticnet" && !params.l1_ratio)
    refuse_param(kName, "l1_ratio", nullptr, "must be a number for the penalty elasticnet");
  if (solver == "liblinear" && penalty == "none")
    refuse_param(kName, "solver", solver, "must be another where there is no penalty");
  if (params.dual && (solver != "liblinear" || penalty != "l2"))
    refuse_param(kName, "dual", params.dual, "must be false for solver " + solver + " with the penalty " + penalty);
}

}  // namespace

template <class T>
LogisticRegression<T>::LogisticRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_class_weight(kName, params_.class_weight);
  const double* C = std::get_if<double>(&params_.C.data);
  C_ = C ? *C : kInfinity;
  const std::string penalty = penalty_name(params_, C_);
  check_pairs(params_, penalty);
  if (penalty == "none") C_ = kInfinity;
  if (penalty == "l1") l1_share_ = 1;
  if (penalty == "elasticnet") l1_share_ = *params_.l1_ratio;
}

template <class T>
schema::EstimatorInfo LogisticRegression<T>::info() {
  return {
      .name = kName,
      .kind = "classifier",
      .family = "linear_model",
      .doc = "Logistic regression without penalty, with L1, L2 or both; multinomial for three classes and more.",
      .params = param_set().infos(),
      .attributes = {"classes_", "coef_", "intercept_", "n_iter_"},
      .deviations = {
          "No penalty is written C = \"inf\" or penalty = null: JSON has no infinity.",
          "liblinear, newton-cg, newton-cholesky, sag and saga find the minimum by Newton's method (with coordinate descent "
          "for L1), or where its matrix would be large by L-BFGS or OWL-QN; n_iter_ counts those iterations, and tol bounds the "
          "gradient.",
          "Sparse data of more than 4,194,304 cells are minimised by L-BFGS or OWL-QN with any solver, and in double.",
          "liblinear penalises the intercept, as scikit-learn's."}};
}

template <class T>
LogisticPenalty LogisticRegression<T>::penalty(double C, double weight_sum, std::int64_t n_rows) const {
  const double strength = std::isinf(C) ? 0.0 : 1 / (C * weight_sum);
  const auto n_coef = static_cast<std::size_t>(n_rows * n_features_),
             size = n_coef + static_cast<std::size_t>(params_.fit_intercept ? n_rows : 0);
  LogisticPenalty penalty{.l1 = {}, .l2 = std::vector<double>(size, strength * (1 - l1_share_))};
  if (l1_share_ > 0 && strength > 0) penalty.l1.assign(size, strength * l1_share_);
  const double of_intercept = params_.solver == "liblinear" ? 1 / params_.intercept_scaling : 0.0;
  for (std::size_t i = n_coef; i < size; ++i) {
    penalty.l2[i] *= of_intercept * of_intercept;
    if (!penalty.l1.empty()) penalty.l1[i] *= of_intercept;
  }
  return penalty;
}

template <class T>
void LogisticRegression<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(ctx, y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData, "{}: the target has only the class \"{}\", needs at least 2", kName,
          present_.names.empty() ? "" : present_.names[0]);
  require(present_.size() == 2 || params_.solver != "liblinear", schema::ErrorCode::kBadData,
          "{}: solver liblinear takes two classes, the target has {}", kName, present_.size());
  n_features_ = X.n_cols();
  const auto own_fit = [&] {
    if (is_large_sparse(X)) return minimize_sparse(ctx, X, y);
    const OwnValues<T> values(ctx, X);
    return with_targets<T>(ctx, {.X = values.view()}, y,
                           [&](const LogisticData<T>& data) { return minimize(ctx, data, C_); });
  };
  LogisticFit fit = is_shared(ctx, X) ? shared_fit(ctx, X, y) : own_fit();
  n_iter_ = fit.n_iter;
  const std::int64_t rows = present_.size() == 2 ? 1 : present_.size();
  coef_.assign(fit.w.begin(), fit.w.begin() + rows * n_features_);
  intercept_.assign(fit.w.begin() + rows * n_features_, fit.w.end());
  intercept_.resize(static_cast<std::size_t>(rows), 0.0);
}

template <class T>
std::string LogisticRegression<T>::work_key(const std::string& content) const {
  return fmt::format("{} {} {} {} {} {} {} {}", content, l1_share_, params_.tol, params_.fit_intercept, params_.intercept_scaling,
                     schema::to_string(params_.class_weight), params_.solver, params_.max_iter);
}

template <class T>
void LogisticRegression<T>::announce(WorkCache& plan, const std::string& content) const {
  plan.want(work_key(content), C_);
}

// Fits of several C are made together, each on one thread, where several threads do not help one fit much.
template <class T>
bool LogisticRegression<T>::is_shared(const Context& ctx, const Samples<T>& X) const {
  const int concurrent_fits = ctx.device.traits().concurrent_fits;
  if (!ctx.work || X.content.empty() || X.is_sparse() || concurrent_fits < 2) return false;
  const std::set<double>& wanted = ctx.work->wanted(work_key(X.content));
  if (wanted.size() < 2 || !wanted.contains(C_)) return false;
  const std::int64_t margins = X.n_rows() * present_.size(), pass = margins * X.n_cols();
  if (pass <= kSmallPass) return true;
  return pass <= kMediumPass && margins <= kSmallMargins &&
         wanted.size() >= kSeveral * static_cast<std::size_t>(concurrent_fits);
}

template <class T>
LogisticFit LogisticRegression<T>::shared_fit(const Context& ctx, const Samples<T>& X, const Target& y) const {
  const std::string key = work_key(X.content);
  const auto fits = ctx.work->get<ByC>("logistic fits", key, [&] { return all_fits(ctx, X, y, ctx.work->wanted(key)); });
  const Told& told = fits->at(C_);
  for (const std::string& warning : told.warnings) ctx.warn(warning);
  return told.fit;
}

template <class T>
auto LogisticRegression<T>::all_fits(const Context& ctx, const Samples<T>& X, const Target& y, const std::set<double>& Cs) const -> ByC {
  const std::vector<double> all(Cs.begin(), Cs.end());
  std::vector<Told> told(all.size());
  std::mutex telling;
  std::int64_t done = 0;
  Matrix<T> scratch;
  with_targets<T>(ctx, {.X = X.values(ctx, scratch)}, y, [&](const LogisticData<T>& data) {
    side_by_side(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
      Told& own = told[static_cast<std::size_t>(i)];
      Context alone = ctx;
      alone.work = nullptr;
      alone.emit = [&own](const schema::EventBody& event) {
        if (const auto* log = std::get_if<schema::LogEvent>(&event)) own.warnings.push_back(log->message);
      };
      own.fit = minimize(alone, data, all[static_cast<std::size_t>(i)]);
      const std::lock_guard lock(telling);
      ctx.progress("fits", ++done, static_cast<std::int64_t>(all.size()), "fits");
    });
    return 0;
  });
  ByC fits;
  for (std::size_t i = 0; i < all.size(); ++i) fits.emplace(all[i], std::move(told[i]));
  return fits;
}

template <class T>
LogisticFit LogisticRegression<T>::minimize_sparse(const Context& ctx, const Samples<T>& X, const Target& y) const {
  const SparseRows<T> rows(ctx, X);
  const CsrMatrix<T> columns = transposed(ctx, rows.view());
  LogisticData<double> data{.X = {nullptr, X.n_rows(), X.n_cols()}};
  data.times = [&](MatrixView<const double> B, MatrixView<double> out) {
    ctx.ops<T>().sparse->multiply(rows.view(), B, out);
  };
  data.transpose_times = [&](MatrixView<const double> B, MatrixView<double> out) {
    ctx.ops<T>().sparse->multiply(columns.view(), B, out);
  };
  return with_targets<double>(ctx, std::move(data), y, [&](const LogisticData<double>& full) { return minimize(ctx, full, C_); });
}

// visit(data), with the targets and weights added to what holds the rows.
template <class T>
template <class V, class Visit>
auto LogisticRegression<T>::with_targets(const Context& ctx, LogisticData<V> data, const Target& y, Visit&& visit) const {
  const DevicePositions positions(ctx, present_, y);
  const RowWeights weights(ctx, class_weights(kName, params_.class_weight, present_, y), present_, y);
  data.y = positions.view(), data.weights = weights.view(), data.n_classes = present_.size();
  data.weight_sum = data.weights.empty() ? static_cast<double>(y.codes.size()) : weight_sum(ctx, data.weights);
  require(data.weight_sum > 0, schema::ErrorCode::kInvalidValue,
          "{}: class_weight or the sample weights give every row the weight 0", kName);
  return visit(std::as_const(data));
}

template <class T>
template <class V>
LogisticFit LogisticRegression<T>::minimize(const Context& ctx, const LogisticData<V>& data, double C) const {
  const LogisticPenalty penalty = this->penalty(C, data.weight_sum, present_.size() == 2 ? 1 : present_.size());
  return minimize_logistic(ctx, data, penalty,
                           {.solver = params_.solver,
                            .tol = params_.tol,
                            .max_iter = params_.max_iter,
                            .fit_intercept = params_.fit_intercept,
                            .start = start_});
}

// In double, and rounded at the end.
template <class T>
Matrix<T> LogisticRegression<T>::sparse_margins(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> values = linear_values(ctx, X, coef_, intercept_).to_host();
  const auto k = static_cast<std::size_t>(present_.size()), rows = intercept_.size();
  std::vector<T> Z(static_cast<std::size_t>(X.n_rows()) * k, T{0});
  for (std::size_t e = 0; e < values.size(); ++e) Z[e / rows * k + k - rows + e % rows] = static_cast<T>(values[e]);
  return Matrix<T>(ctx.memory(), X.n_rows(), present_.size(), Z);
}

// For two classes the first column is 0 and the second the decision function.
template <class T>
Matrix<T> LogisticRegression<T>::margins(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t rows = static_cast<std::int64_t>(intercept_.size()), skipped = present_.size() - rows;
  const std::vector<T> host_coef(coef_.begin(), coef_.end()), host_intercept(intercept_.begin(), intercept_.end());
  if (X.is_sparse()) return sparse_margins(ctx, X);
  const Matrix<T> coef(ctx.memory(), rows, n_features_, host_coef);
  const Array<T> intercept(ctx.memory(), std::span<const T>(host_intercept));
  Matrix<T> scratch, Z(ctx.memory(), X.n_rows(), present_.size());
  if (skipped) Z.zero();
  const MatrixView<T> columns(Z.data() + skipped, X.n_rows(), rows, present_.size());
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, X.values(ctx, scratch), coef.view(), T{0}, columns);
  ctx.ops<T>().rows->add_to_rows(intercept.view(), columns);
  return Z;
}

template <class T>
void LogisticRegression<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<T> Z = margins(ctx, X);
  spread_scores(ctx, present_, Z.view(), -kInfinity, proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
void LogisticRegression<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  const Matrix<T> Z = margins(ctx, X);
  spread_decision(ctx, present_, Z.view(), decision);
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
          {"n_iter_", schema::ValueList{schema::Value(n_iter_)}}};
}

template <class T>
void LogisticRegression<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t rows = present_.size() == 2 ? 1 : present_.size();
  archive.field("coef", coef_, rows, n_features_);
  archive.field("intercept", intercept_, rows);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class LogisticRegression<float>;
template class LogisticRegression<double>;

}  // namespace kedge::engine
