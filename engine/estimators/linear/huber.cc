// HuberRegressor: the loss on lanes, and its joint minimum with the scale.
#include "engine/estimators/linear/huber.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/margin_fit.h"

namespace kedge::engine {
namespace {

using P = HuberParams;
constexpr const char* kName = "HuberRegressor";
constexpr double kLeastScale = 10 * std::numeric_limits<double>::epsilon();   // scikit-learn's bound

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("epsilon", &P::epsilon, at_least(1), "Scales beyond which a residual counts by its distance.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of iterations.")
          .add("alpha", &P::alpha, at_least(0), "Strength of the L2 penalty.")
          .ignore("warm_start", false, {boolean_form()})
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
          .add("tol", &P::tol, at_least(0), "Has no influence: iterations go on to rounding.");
  return set;
}

// With c = min(|r|, bound): the loss is c (2 |r| - c) / s, its derivative by the margin 2 sign(r) c / s, and by the
// scale 1 - c^2 / s^2. Written without the factors of s.
class HuberLoss final : public MarginLoss {
 public:
  void set_bound(const Context& ctx, double bound) {
    std::vector<double> constants(static_cast<std::size_t>(kLane), bound);
    constants.push_back(-bound), constants.push_back(2.0);
    constants_ = LaneConstants(ctx, constants);
  }

  void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const override {
    math.subtract(rows.z, rows.y, rows.z);
    math.least(rows.z, constants_[0], out.slope), math.most(out.slope, constants_[kLane], out.slope);
    math.abs(rows.z, out.first), math.abs(out.slope, out.second);
    math.multiply(out.first, constants_[kLane + 1], out.first), math.subtract(out.first, out.second, out.first);
    math.multiply(out.first, out.second, out.first), math.square(out.second, out.second);
    for (const MatrixView<double>& part : {out.slope, out.first, out.second}) math.multiply(part, rows.weights, part);
  }
  void write_curvature(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const override {
    math.subtract(rows.z, rows.y, rows.z), math.abs(rows.z, rows.z);
    math.above(rows.z, constants_.slice(0, kLane), out);
    math.multiply(out, rows.weights, out), math.subtract(rows.weights, out, out);
  }

 private:
  LaneConstants constants_;
};

// The variables: coefficients, the intercept where there is one, and last the scale.
template <class Rows>
SmoothModel huber_model(const Context& ctx, Rows& rows, HuberLoss& loss, double epsilon, double weight_sum,
                        double share, const std::vector<double>& penalty) {
  SmoothModel model;
  model.objective = [&, epsilon, weight_sum, share](std::span<const double> v, std::span<double> gradient) {
    const double scale = v.back();
    if (!(scale >= kLeastScale)) return std::numeric_limits<double>::infinity();
    loss.set_bound(ctx, epsilon * scale);
    const MarginSums sums = rows.sums(ctx, loss, v.first(v.size() - 1));
    double value = weight_sum * scale + sums.first / share / scale;
    for (std::size_t j = 0; j < sums.slopes.size(); ++j) {
      gradient[j] = 2 / scale / share * sums.slopes[j] + 2 * penalty[j] * v[j];
      value += penalty[j] * v[j] * v[j];
    }
    gradient.back() = weight_sum - sums.second / share / (scale * scale);
    return value;
  };
  model.curvature = [&, epsilon, share](std::span<const double> v, std::span<double> hessian) {
    const std::size_t n = v.size();
    const double scale = v.back();
    loss.set_bound(ctx, epsilon * scale);
    const std::vector<double> gram = rows.curvature(ctx, loss, v.first(n - 1), true);   // last: margin - y
    for (std::size_t e = 0; e < n * n; ++e) {
      const double row = e / n == n - 1 ? -1 / scale : 1.0, column = e % n == n - 1 ? -1 / scale : 1.0;
      hessian[e] = 2 / scale / share * row * column * gram[e];
    }
    for (std::size_t j = 0; j + 1 < n; ++j) hessian[j * (n + 1)] += 2 * penalty[j];
  };
  return model;
}

}   // namespace

template <class T>
HuberRegressor<T>::HuberRegressor(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo HuberRegressor<T>::info() {
  return {
      .name = kName,
      .kind = "regressor",
      .family = "linear_model",
      .doc = "Linear regression robust to outliers: Huber's loss, its scale found together with the coefficients.",
      .params = param_set().infos(),
      .attributes = {"coef_", "intercept_", "scale_", "n_iter_", "outliers_"},
      .deviations = {
          "The minimum is found to rounding, by Newton's method on centred and scaled columns, for any tol: "
          "scikit-learn's stops early, the more so the more the columns differ in scale.",
          "Iterations begin at the mean and the deviation of the target; beyond 16,000 rows n_iter_ counts those on a "
          "sample of the rows as well.",
          "outliers_ has 1 for true and 0 for false.", "float32 input is solved in double."}};
}

template <class T>
void HuberRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  double total = 0, mean = 0, spread = 0;
  const auto weight = [&](std::size_t i) { return y.weights.empty() ? 1.0 : y.weights[i]; };
  for (std::size_t i = 0; i < y.values.size(); ++i) total += weight(i), mean += weight(i) * y.values[i];
  require(total > 0, schema::ErrorCode::kBadData, "{}: the sample weights sum to 0, must be more", kName);
  mean = params_.fit_intercept ? mean / total : 0.0;
  for (std::size_t i = 0; i < y.values.size(); ++i) spread += weight(i) * (y.values[i] - mean) * (y.values[i] - mean);
  spread = std::sqrt(spread / total);
  coef_.assign(static_cast<std::size_t>(X.n_cols()), 0.0);
  intercept_ = mean, scale_ = std::max(spread, kLeastScale), n_iter_ = 0;
  if (spread > kLeastScale) {   // otherwise all rows lie on this line
    const MarginColumns columns = margin_columns(ctx, X, params_.fit_intercept);
    HuberLoss loss;
    MarginProblem<T> problem(ctx, X, y.values, y.weights, columns.shift, columns.scale,
                             params_.fit_intercept ? 1.0 : 0.0);
    std::vector<double> penalty(static_cast<std::size_t>(problem.size()), 0.0), start(penalty.size() + 1, 0.0);
    for (std::size_t j = 0; j < coef_.size(); ++j) penalty[j] = params_.alpha * columns.scale[j] * columns.scale[j];
    if (params_.fit_intercept) start[penalty.size() - 1] = mean;
    start.back() = spread;
    const auto make_model = [&](auto& rows, double share) {
      return huber_model(ctx, rows, loss, params_.epsilon, total, share, penalty);
    };
    SmoothMinimum found = minimize_margins(ctx, problem, make_model, std::move(start), params_.max_iter);
    scale_ = found.x.back(), n_iter_ = found.iterations;
    found.x.pop_back();
    MarginLine line = line_of(columns, found.x);
    coef_ = std::move(line.coef), intercept_ = line.intercept;
    constexpr double kOnTheLine = 1e-10;   // of the target's spread: what is left of it is rounding
    if (!found.is_converged && scale_ > kOnTheLine * spread)
      ctx.warn(fmt::format("{}: did not converge within max_iter = {} iterations", kName, params_.max_iter));
  }
  find_outliers(ctx, X, y);
}

template <class T>
void HuberRegressor<T>::find_outliers(const Context& ctx, const Samples<T>& X, const Target& y) {
  outliers_ = predict(ctx, X);
  for (std::size_t i = 0; i < outliers_.size(); ++i)
    outliers_[i] = std::abs(y.values[i] - outliers_[i]) > params_.epsilon * scale_ ? 1.0 : 0.0;
}

template <class T>
std::vector<double> HuberRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap HuberRegressor<T>::attributes() const {
  return {
      {"coef_", coef_}, {"intercept_", intercept_}, {"scale_", scale_}, {"n_iter_", n_iter_}, {"outliers_", outliers_}};
}

template <class T>
void HuberRegressor<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.field("scale", scale_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.field("outliers", outliers_, kAnySize);
}

template class HuberRegressor<float>;
template class HuberRegressor<double>;

}   // namespace kedge::engine
