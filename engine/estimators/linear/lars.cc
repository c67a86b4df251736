// Ends of a path: the last knot, or the one with the least criterion.
#include "engine/estimators/linear/lars.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_regression.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = LarsParams;
using schema::Value;
using schema::ValueMap;
constexpr double kLeastNoise = 1e-30;   // of the variance of the target
constexpr const char *kLars = "Lars", *kLassoLars = "LassoLars", *kLassoLarsIC = "LassoLarsIC";
const char* const kPositive = "Coefficients of at least 0.";
const char* const kSteps = "Largest number of steps.";

ParamSet<P>& add_ends(ParamSet<P>& set) {
  return set
      .add("fit_path", &P::fit_path, "Give all knots in alphas_, active_ and coef_path_; false: the last alpha alone.")
      .add("jitter", &P::jitter, at_least(0),
           "Add a uniform number below this to each value of the target; null for none.")
      .random_state(&P::random_state);
}

const ParamSet<P>& lars_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kLars);
    made.add("fit_intercept", &P::fit_intercept, "Fit an intercept.");
    add_lars_ignored(made).add("n_nonzero_coefs", &P::n_nonzero_coefs, at_least(1), "Largest number of steps.");
    return add_ends(made);
  }();
  return set;
}

const ParamSet<P>& lasso_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kLassoLars);
    made.add("alpha", &P::alpha, at_least(0), "Strength of the L1 penalty; 0 for least squares.")
        .add("fit_intercept", &P::fit_intercept, "Fit an intercept.");
    add_lars_ignored(made).add("max_iter", &P::max_iter, at_least(0), kSteps).add("positive", &P::positive, kPositive);
    return add_ends(made);
  }();
  return set;
}

const ParamSet<P>& criterion_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kLassoLarsIC);
    made.add("criterion", &P::criterion, {"aic", "bic"}, "What is least: Akaike's criterion or the Bayesian.")
        .add("fit_intercept", &P::fit_intercept, "Fit an intercept.");
    return add_lars_ignored(made)
        .add("max_iter", &P::max_iter, at_least(0), kSteps)
        .add("positive", &P::positive, kPositive)
        .add("noise_variance", &P::noise_variance, at_least(0), "Variance of the noise; null: of least squares.");
  }();
  return set;
}

schema::EstimatorInfo info_of(const char* name, const char* doc, const ParamSet<P>& params,
                              std::vector<std::string> attributes) {
  return {.name = name,
          .kind = "regressor",
          .family = "linear_model",
          .doc = doc,
          .params = params.infos(),
          .attributes = std::move(attributes),
          .deviations = lars_deviations()};
}

// numpy's uniform(high=jitter) added to each value.
std::vector<double> jittered(const Context& ctx, const P& params, std::vector<double> values) {
  LegacyRandom random(static_cast<std::uint32_t>(params.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  for (double& value : values) value += *params.jitter * random.uniform();
  return values;
}

}   // namespace

ParamSet<P>& add_lars_ignored(ParamSet<P>& set) {
  return set.ignore("verbose", false, {boolean_form(), integer_form()})
      .ignore("precompute", "auto", {string_form({"auto"}), boolean_form()})
      .add("eps", &P::eps, at_least(0), "Least pivot of the Cholesky factor.")
      .ignore("copy_X", true, {boolean_form()});
}

const std::vector<std::string>& lars_deviations() {
  static const std::vector<std::string> list{
      "The products of all columns are made whatever precompute says, in double for float32 input, too.",
      "A column that is nearly a combination of those taken is left out with a warning; scikit-learn goes on with two "
      "columns exchanged."};
  return list;
}

template <class T>
MemoryNeed LarsModel<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t use = X.copy() + memory::answers(X);
  const std::int64_t folds = step.estimator.ends_with("CV") ? std::min(memory::integer(step, "cv", 5), X.rows) : 0;
  const std::int64_t knots = std::min<std::int64_t>(memory::integer(step, "max_iter", 500), 2 * X.cols) + 1;
  return {
      .work = std::max(use, X.copy() + memory::block(X) + (6 + 3 * folds) * memory::square(X.cols + 2) +
                                bytes_of(X.rows, 6, memory::kDouble) + bytes_of(knots, 8 * X.cols, memory::kDouble)),
      .use = use};
}

template <class T>
void LarsModel<T>::walk(const Context& ctx, const LinearProblem<T>& problem, const std::vector<double>& gram,
                        double alpha_min, std::int64_t max_iter) {
  path_ = lars_path(ctx, name_, gram, static_cast<double>(problem.n_rows()),
                    {.is_lasso = is_lasso_,
                     .positive = params_.positive,
                     .alpha_min = alpha_min,
                     .eps = params_.eps,
                     .max_iter = max_iter});
  set_coef(problem, {path_.coef.end() - problem.n_cols(), path_.coef.end()});
}

template <class T>
void LarsModel<T>::set_coef(const LinearProblem<T>& problem, std::vector<double> coef) {
  coef_ = std::move(coef);
  intercept_ = problem.intercepts(coef_)[0];
}

template <class T>
std::vector<double> LarsModel<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
ValueMap LarsModel<T>::attributes() const {
  // scikit-learn keeps the row of the one target without a path
  const Value coef = params_.fit_path ? Value(coef_) : rows_value(coef_, static_cast<std::int64_t>(coef_.size()));
  ValueMap map{{"coef_", coef}, {"intercept_", intercept_}, {"n_iter_", path_.n_iter}, {"alphas_", path_.alphas}};
  if (!keeps_path_) return map;
  const std::size_t knots = path_.alphas.size(), d = coef_.size();
  std::vector<double> by_column(path_.coef.size());
  for (std::size_t k = 0; k < knots; ++k)
    for (std::size_t j = 0; j < d; ++j) by_column[j * knots + k] = path_.coef[k * d + j];
  map.emplace_back("active_", std::vector<double>(path_.active.begin(), path_.active.end()));
  map.emplace_back("coef_path_", rows_value(by_column, static_cast<std::int64_t>(knots)));
  return map;
}

template <class T>
void LarsModel<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", path_.n_iter, 0, kMaxSize);
  archive.field("alphas", path_.alphas, kAnySize);
  archive.expect(!path_.alphas.empty(), "alphas", "is empty");
  archive.field("path", path_.coef, keeps_path_ ? static_cast<std::int64_t>(path_.alphas.size()) : 0,
                archive.n_features());
  archive.indices("active", path_.active, kAnySize, 0, archive.n_features() - 1);
}

template <class T>
void LarsToEnd<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const P& params = this->params_;
  const LinearProblem<T> problem =
      params.jitter
          ? LinearProblem<T>(ctx, this->name_, X, jittered(ctx, params, y.values), 1, {}, params.fit_intercept)
          : LinearProblem<T>(ctx, this->name_, X, y.device_values(ctx), {}, params.fit_intercept);
  const std::vector<double> gram = problem.gram(ctx).to_host();
  if (this->is_lasso_) this->walk(ctx, problem, gram, params.alpha, params.max_iter);
  else this->walk(ctx, problem, gram, 0.0, params.n_nonzero_coefs);
  if (this->keeps_path_) return;
  this->path_.alphas = {this->path_.alphas.back()};
  this->path_.coef.clear(), this->path_.active.clear();
}

template <class T>
Lars<T>::Lars(const ValueMap& params) : LarsToEnd<T>(kLars, lars_params().parse(params), false) {}

template <class T>
schema::EstimatorInfo Lars<T>::info() {
  return info_of(kLars, "Least angle regression: columns join one after the other.", lars_params(),
                 {"alphas_", "active_", "coef_path_", "coef_", "intercept_", "n_iter_"});
}

template <class T>
LassoLars<T>::LassoLars(const ValueMap& params) : LarsToEnd<T>(kLassoLars, lasso_params().parse(params), true) {}

template <class T>
schema::EstimatorInfo LassoLars<T>::info() {
  return info_of(kLassoLars, "The lasso, along the path of least angles.", lasso_params(),
                 {"alphas_", "active_", "coef_path_", "coef_", "intercept_", "n_iter_"});
}

template <class T>
LassoLarsIC<T>::LassoLarsIC(const ValueMap& params)
    : LarsModel<T>(kLassoLarsIC, criterion_params().parse(params), true) {
  this->keeps_path_ = false;
}

template <class T>
schema::EstimatorInfo LassoLarsIC<T>::info() {
  return info_of(kLassoLarsIC, "The lasso whose penalty has the least information criterion.", criterion_params(),
                 {"alpha_", "alphas_", "coef_", "criterion_", "intercept_", "n_iter_", "noise_variance_"});
}

// Of least squares on all columns; positive where the coefficients have to be.
template <class T>
double LassoLarsIC<T>::noise_variance(const Context& ctx, const Samples<T>& X, const Target& y,
                                      const LinearProblem<T>& problem) const {
  const P& params = this->params_;
  const std::int64_t free = problem.n_rows() - problem.n_cols() - (params.fit_intercept ? 1 : 0);
  require(free > 0, schema::ErrorCode::kBadData,
          "{}: noise_variance is null, which needs more rows than columns; the data have {} rows and {} columns",
          kLassoLarsIC, problem.n_rows(), problem.n_cols());
  LinearRegression<T> least({{"fit_intercept", params.fit_intercept}, {"positive", params.positive}});
  least.fit(ctx, X, y);
  const std::vector<double> coef = numbers_of(*find_value(least.attributes(), "coef_")).value();
  return problem.residual_squares(ctx, coef) / static_cast<double>(free);
}

template <class T>
void LassoLarsIC<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const P& params = this->params_;
  const LinearProblem<T> problem(ctx, kLassoLarsIC, X, y.device_values(ctx), {}, params.fit_intercept);
  noise_variance_ = params.noise_variance ? *params.noise_variance : noise_variance(ctx, X, y, problem);
  const std::vector<double> gram = problem.gram(ctx).to_host();
  this->walk(ctx, problem, gram, 0.0, params.max_iter);
  const auto d = static_cast<std::size_t>(problem.n_cols()), p = d + 1;
  const double n = static_cast<double>(problem.n_rows()), factor = params.criterion == "aic" ? 2.0 : std::log(n);
  const double least = kLeastNoise * gram[d * p + d] / n;   // for rows on a line
  const double noise = noise_variance_ > least ? noise_variance_ : least > 0 ? least : 1.0;
  criterion_.clear();
  for (std::size_t k = 0; k < this->path_.alphas.size(); ++k) {
    const double* w = this->path_.coef.data() + k * d;
    double squares = gram[d * p + d], taken = 0;
    for (std::size_t i = 0; i < d; ++i) {
      double along = 0;
      for (std::size_t j = 0; j < d && w[i] != 0; ++j) along += gram[i * p + j] * w[j];
      squares += w[i] * (along - 2 * gram[i * p + d]);
      taken += std::abs(w[i]) > std::numeric_limits<T>::epsilon() ? 1 : 0;
    }
    criterion_.push_back(n * std::log(2 * std::numbers::pi * noise) + std::max(0.0, squares) / noise + factor * taken);
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(criterion_) - criterion_.begin());
  const double* w = this->path_.coef.data() + best * d;
  alpha_ = this->path_.alphas[best];
  this->set_coef(problem, {w, w + d});
  this->path_.coef.clear(), this->path_.active.clear();
}

template <class T>
ValueMap LassoLarsIC<T>::attributes() const {
  ValueMap map = LarsModel<T>::attributes();
  map.emplace_back("alpha_", alpha_);
  map.emplace_back("criterion_", criterion_);
  map.emplace_back("noise_variance_", noise_variance_);
  return map;
}

template <class T>
void LassoLarsIC<T>::state(StateArchive& archive) {
  LarsModel<T>::state(archive);
  archive.field("alpha", alpha_);
  archive.field("noise_variance", noise_variance_);
  archive.field("criterion", criterion_, static_cast<std::int64_t>(this->path_.alphas.size()));
}

#define KEDGE_LARS(T)          \
  template class LarsModel<T>; \
  template class LarsToEnd<T>; \
  template class Lars<T>;      \
  template class LassoLars<T>; \
  template class LassoLarsIC<T>;
KEDGE_LARS(float)
KEDGE_LARS(double)
#undef KEDGE_LARS

}   // namespace kedge::engine
