// SVR and NuSVR: the problem with two multipliers a row, and its decision as the prediction.
#include "engine/estimators/svm/svm_regressors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/estimators/checks.h"
#include "engine/estimators/svm/smo_device.h"

namespace kedge::engine {
namespace {

using P = SvmParams;
constexpr std::int64_t kMostTogether = 512;
constexpr const char* kC = "Upper bound of a multiplier: the larger, the fewer errors are accepted.";

const ParamSet<P>& svr_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made("SVR");
    made.add("C", &P::C, above(0), kC).add("epsilon", &P::epsilon, at_least(0), "Errors up to it cost nothing.");
    return add_svm_params(made);
  }();
  return set;
}

const ParamSet<P>& nu_svr_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made("NuSVR");
    made.add("C", &P::C, above(0), kC)
        .add("nu", &P::nu, above_up_to(0, 1),
             "Share of rows outside of the tube at most, and of support vectors at least.");
    return add_svm_params(made);
  }();
  return set;
}

}   // namespace

// First the multipliers of errors below, then those of errors above, of all rows.
template <class T>
SmoProblem SvmRegressor<T>::problem(const Target& y) const {
  const std::size_t n = y.values.size();
  SmoProblem made{.ranges = {{0, static_cast<std::int64_t>(n)}}, .by_sign = is_nu_};
  const double epsilon = is_nu_ ? 0 : params_.epsilon;
  for (const int sign : {1, -1})
    for (std::size_t i = 0; i < n; ++i) {
      made.row.push_back(static_cast<std::int32_t>(i)), made.y.push_back(static_cast<signed char>(sign));
      made.C.push_back(params_.C * (y.weights.empty() ? 1.0 : y.weights[i]));
      made.offset.push_back(y.values[i] - sign * epsilon);
    }
  made.alpha.resize(made.size());
  if (!is_nu_) return made;
  double left = params_.nu * std::accumulate(made.C.begin(), made.C.begin() + static_cast<std::ptrdiff_t>(n), 0.0) / 2;
  for (std::size_t i = 0; i < n; ++i) {
    made.alpha[i] = made.alpha[i + n] = std::min(left, made.C[i]);
    left -= made.alpha[i];
  }
  return made;
}

template <class T>
void SvmRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  ctx.check_stop();
  const std::int64_t n = X.n_rows();
  require(y.weights.empty() || std::ranges::any_of(y.weights, [](double w) { return w > 0; }),
          schema::ErrorCode::kBadData, "{}: all rows weigh 0", name_);
  const KernelChoice choice = svm_kernel(ctx, params_, X);
  Matrix<T> scratch;
  bool in_double = false;
  const auto solved = [&](auto& kernel) {
    in_double = kernel.is_double();
    return solve_smo(kernel, problem(y), smo_options(params_));
  };
  SupportVectorOps* const ops = 2 * n > kWholeProblem ? support_vector_ops(ctx.device) : nullptr;
  SmoResult result;
  if (ops) {
    DeviceRows kernel(ctx, *ops, choice, X.values(ctx, scratch), params_.tol, cache_bytes(params_));
    result = solved(kernel);
  } else {
    result = solved(*shared_kernel(ctx, X.content, name_, params_, [&] {
      return std::make_shared<KernelRows>(ctx, choice, X.values(ctx, scratch), params_.tol, cache_bytes(params_),
                                          2 * n <= kWholeProblem ? n : kMostTogether);
    }));
  }
  model_.begin(name_, choice, in_double, n, X.n_cols());
  std::vector<std::int64_t> support;
  std::vector<double> coefs;
  for (std::int64_t i = 0; i < n; ++i) {
    const double coef = result.alpha[static_cast<std::size_t>(i)] - result.alpha[static_cast<std::size_t>(i + n)];
    if (coef != 0) support.push_back(i), coefs.push_back(coef);
  }
  model_.intercept = {(result.threshold[0] + result.threshold[1]) / 2};
  model_.add_fit(result);
  model_.set_support(ctx, X, std::move(support), std::move(coefs), 1, {0});
  warn_of_fits(ctx, name_, params_, {&result, 1});
}

template <class T>
std::vector<double> SvmRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> values;
  model_.products(ctx, name_, X, [&](std::int64_t, std::int64_t, const std::vector<double>& sums) {
    for (const double sum : sums) values.push_back(sum + model_.intercept[0]);
  });
  return values;
}

template <class T>
schema::ValueMap SvmRegressor<T>::attributes() const {
  schema::ValueMap map = model_.attributes(1, false);
  map.emplace_back("n_support_", std::vector<double>{static_cast<double>(model_.n_support())});
  return map;
}

template <class T>
SVR<T>::SVR(const schema::ValueMap& params) : SvmRegressor<T>("SVR", false, svr_params().parse(params)) {}

template <class T>
NuSVR<T>::NuSVR(const schema::ValueMap& params) : SvmRegressor<T>("NuSVR", true, nu_svr_params().parse(params)) {}

template <class T>
schema::EstimatorInfo SVR<T>::info() {
  return {.name = "SVR",
          .kind = "regressor",
          .family = "svm",
          .doc = "Support vector regression: errors within epsilon cost nothing.",
          .params = svr_params().infos(),
          .attributes = SvmModel<T>::attribute_names(),
          .deviations = svm_deviations()};
}

template <class T>
schema::EstimatorInfo NuSVR<T>::info() {
  return {.name = "NuSVR",
          .kind = "regressor",
          .family = "svm",
          .doc = "Support vector regression whose share of support vectors is set.",
          .params = nu_svr_params().infos(),
          .attributes = SvmModel<T>::attribute_names(),
          .deviations = svm_deviations()};
}

template class SvmRegressor<float>;
template class SvmRegressor<double>;
template class SVR<float>;
template class SVR<double>;
template class NuSVR<float>;
template class NuSVR<double>;

}   // namespace kedge::engine
