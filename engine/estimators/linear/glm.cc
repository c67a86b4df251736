// Generalised linear models: the losses of Tweedie's family under two links, and their fit.
#include "engine/estimators/linear/glm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/margin_fit.h"

namespace kedge::engine {
namespace {

const char* name_of(GlmKind kind) {
  return kind == GlmKind::kPoisson ? "PoissonRegressor"
         : kind == GlmKind::kGamma ? "GammaRegressor"
                                   : "TweedieRegressor";
}

template <class P>
ParamSet<P> glm_params(GlmKind kind) {
  ParamSet<P> set(name_of(kind));
  if constexpr (std::is_same_v<P, TweedieParams>)
    set.add(
        "power", &TweedieParams::power, {},
        "Power of the mean to which the variance is proportional: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian.");
  set.add("alpha", static_cast<double P::*>(&P::alpha), at_least(0), "Strength of the L2 penalty.")
      .add("fit_intercept", static_cast<bool P::*>(&P::fit_intercept), "Fit an intercept, which is not penalised.");
  if constexpr (std::is_same_v<P, TweedieParams>)
    set.add("link", &TweedieParams::link, {"auto", "identity", "log"},
            "From the linear predictor to the mean; auto: identity for a power up to 0, otherwise log.");
  return set
      .add("solver", static_cast<std::string P::*>(&P::solver), {"lbfgs", "newton-cholesky"},
           "Has no influence on the answer.")
      .add("max_iter", static_cast<std::int64_t P::*>(&P::max_iter), at_least(1), "Largest number of iterations.")
      .add("tol", static_cast<double P::*>(&P::tol), above(0), "Has no influence: iterations go on to rounding.")
      .ignore("warm_start", false, {boolean_form()})
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()});
}

template <GlmKind kKind>
const auto& param_set() {
  using P = std::conditional_t<kKind == GlmKind::kTweedie, TweedieParams, GlmParams>;
  static const ParamSet<P> set = glm_params<P>(kKind);
  return set;
}

template <GlmKind kKind>
TweedieParams parsed(const schema::ValueMap& values) {
  if constexpr (kKind == GlmKind::kTweedie) {
    return param_set<kKind>().parse(values);
  } else {
    const double power = kKind == GlmKind::kPoisson ? 1 : 2;
    return {param_set<kKind>().parse(values), power, "log"};
  }
}

// The part of half the deviance that depends on the mean m: m^(2 - p) / (2 - p) - y m^(1 - p) / (1 - p), with
// logarithms where a denominator is 0.
class TweedieLoss final : public MarginLoss {
 public:
  TweedieLoss(const Context& ctx, double power, bool has_log_link)
      : p_(power), has_log_link_(has_log_link), constants_(ctx, {2 - power, power - 1, 0.0}) {}

  double value(const MarginSums& sums) const {
    return sums.first / (p_ == 2 ? 1 : 2 - p_) - sums.second / (p_ == 1 ? 1 : 1 - p_);
  }

  void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const override {
    has_log_link_ ? write_log(math, rows, out) : write_identity(math, rows, out);
    for (const MatrixView<double>& part : {out.slope, out.first, out.second}) math.multiply(part, rows.weights, part);
  }

  void write_curvature(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const override {
    if (!has_log_link_) {
      if (p_ != 0) math.log(rows.z, rows.z);
      math.exp(-p_, rows.z, out);   // Fisher's: 1 / variance
    } else if (p_ < 1 || p_ > 2) {
      math.exp(2 - p_, rows.z, out);   // Fisher's: the loss is not convex
    } else {
      math.exp(1 - p_, rows.z, out);
      math.multiply(out, rows.y, out), math.multiply(out, of_target(), out);
      math.exp(2 - p_, rows.z, rows.z), math.multiply(rows.z, of_mean(), rows.z);
      math.add(out, rows.z, out);
    }
    math.multiply(out, rows.weights, out);
  }

 private:
  // slope = m^(2 - p) - y m^(1 - p), m = exp(z).
  void write_log(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const {
    math.exp(2 - p_, rows.z, out.first);
    math.exp(1 - p_, rows.z, out.second), math.multiply(out.second, rows.y, out.second);
    math.subtract(out.first, out.second, out.slope);
    if (p_ == 2) math.add(rows.z, zero(), out.first);
    if (p_ == 1) math.multiply(rows.z, rows.y, out.second);
  }
  // slope = m^(1 - p) - y m^-p, m = z.
  void write_identity(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const {
    if (p_ == 0) {   // half the squared residual itself, which is more exact
      math.subtract(rows.z, rows.y, out.slope), math.square(out.slope, out.first);
      return math.subtract(rows.y, rows.y, out.second);
    }
    math.log(rows.z, out.second);   // NaN where the mean would be negative
    math.exp(-p_, out.second, out.first), math.multiply(out.first, rows.y, out.first);
    math.exp(1 - p_, out.second, out.slope), math.subtract(out.slope, out.first, out.slope);
    if (p_ == 2) math.add(out.second, zero(), out.first);
    else math.exp(2 - p_, out.second, out.first);
    if (p_ != 1) math.exp(1 - p_, out.second, out.second);
    math.multiply(out.second, rows.y, out.second);
  }

  MatrixView<const double> of_mean() const { return constants_[0]; }
  MatrixView<const double> of_target() const { return constants_[1]; }
  MatrixView<const double> zero() const { return constants_[2]; }

  double p_;
  bool has_log_link_;
  LaneConstants constants_;
};

}   // namespace

template <class T, GlmKind kKind>
Glm<T, kKind>::Glm(const schema::ValueMap& params) : params_(parsed<kKind>(params)) {}

template <class T, GlmKind kKind>
schema::EstimatorInfo Glm<T, kKind>::info() {
  const char* const doc =
      kKind == GlmKind::kPoisson ? "Regression of counts: Poisson's distribution with a log link and an L2 penalty."
      : kKind == GlmKind::kGamma
          ? "Regression of positive values: the gamma distribution with a log link and an L2 penalty."
          : "Regression with a distribution of Tweedie's family and an L2 penalty.";
  return {.name = name_of(kKind),
          .kind = "regressor",
          .family = "linear_model",
          .doc = doc,
          .params = param_set<kKind>().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_"},
          .deviations = {
              "The minimum is found to rounding, by Newton's method on centred and scaled columns, for any solver and "
              "tol: scikit-learn's default tol stops early, the more so the more the columns differ in scale.",
              "Beyond 16,000 rows n_iter_ counts the iterations on a sample of the rows as well.",
              "float32 input is solved in double."}};
}

template <class T, GlmKind kKind>
bool Glm<T, kKind>::has_log_link() const {
  return params_.link == "log" || (params_.link == "auto" && params_.power > 0);
}

template <class T, GlmKind kKind>
void Glm<T, kKind>::require_range(const Target& y) const {
  const double p = params_.power;
  if (p <= 0) return;
  const auto least = std::ranges::min_element(y.values);
  require(p < 2 ? *least >= 0 : *least > 0, schema::ErrorCode::kBadData,
          "{}: the target is {} in row {}, must be {} 0{}", name_of(kKind), *least, least - y.values.begin(),
          p < 2 ? "at least" : "above", kKind == GlmKind::kTweedie ? fmt::format(" for the power {}", p) : "");
}

template <class T, GlmKind kKind>
void Glm<T, kKind>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_of(kKind), X);
  require_range(y);
  double total = 0, mean = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const double weight = y.weights.empty() ? 1.0 : y.weights[i];
    total += weight, mean += weight * y.values[i];
  }
  require(total > 0, schema::ErrorCode::kBadData, "{}: the sample weights sum to 0, must be more", name_of(kKind));
  mean /= total;
  const double p = params_.power;
  require(mean > 0 || (p == 0 && !has_log_link()), schema::ErrorCode::kBadData,
          "{}: the mean of the target is {}, must be above 0", name_of(kKind), mean);
  const MarginColumns columns = margin_columns(ctx, X, params_.fit_intercept);
  const TweedieLoss loss(ctx, p, has_log_link());
  MarginProblem<T> problem(ctx, X, y.values, y.weights, columns.shift, columns.scale,
                           params_.fit_intercept ? 1.0 : 0.0);
  std::vector<double> penalty(static_cast<std::size_t>(problem.size()), 0.0);
  for (std::size_t j = 0; j < columns.scale.size(); ++j)
    penalty[j] = params_.alpha * columns.scale[j] * columns.scale[j];
  const auto make_model = [&](auto& rows, double share) {
    const double weight = share * total;
    return penalised_model(
        ctx, rows, loss, [&loss, weight](const MarginSums& sums) { return loss.value(sums) / weight; }, 1 / weight,
        penalty);
  };
  std::vector<double> start(penalty.size(), 0.0), gradient(penalty.size());
  if (params_.fit_intercept) start.back() = has_log_link() ? std::log(mean) : mean;
  require(std::isfinite(make_model(problem, 1.0).objective(start, gradient)), schema::ErrorCode::kBadData,
          "{}: the loss is not finite at the start; scale the columns and the target{}", name_of(kKind),
          params_.fit_intercept ? "" : ", or fit an intercept");
  const SmoothMinimum found = minimize_margins(ctx, problem, make_model, std::move(start), params_.max_iter);
  if (!found.is_converged)
    ctx.warn(fmt::format("{}: did not converge within max_iter = {} iterations", name_of(kKind), params_.max_iter));
  MarginLine line = line_of(columns, found.x);
  coef_ = std::move(line.coef), intercept_ = line.intercept, n_iter_ = found.iterations;
}

template <class T, GlmKind kKind>
std::vector<double> Glm<T, kKind>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_of(kKind), X, coef_.size());
  Matrix<double> values = linear_values(ctx, X, coef_, {&intercept_, 1});
  if (has_log_link()) ctx.ops<double>().maps->map(Unary::kExp, 1, std::as_const(values).view(), values.view());
  return values.to_host();
}

template <class T, GlmKind kKind>
schema::ValueMap Glm<T, kKind>::attributes() const {
  return {{"coef_", coef_}, {"intercept_", intercept_}, {"n_iter_", n_iter_}};
}

template <class T, GlmKind kKind>
void Glm<T, kKind>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class Glm<float, GlmKind::kPoisson>;
template class Glm<double, GlmKind::kPoisson>;
template class Glm<float, GlmKind::kGamma>;
template class Glm<double, GlmKind::kGamma>;
template class Glm<float, GlmKind::kTweedie>;
template class Glm<double, GlmKind::kTweedie>;

}   // namespace kedge::engine
