// StandardScaler: column moments, and the affine map made of them.
#include "engine/estimators/standard_scaler.h"

#include <cmath>
#include <limits>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = StandardScalerParams;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = ParamSet<P>("StandardScaler")
                                     .add("with_mean", &P::with_mean, "Subtract the mean of each column.")
                                     .add("with_std", &P::with_std, "Divide each column by its standard deviation.")
                                     .ignore("copy", true, {boolean_form()});
  return set;
}

// The error bound of the two-pass variance: at or below it, the column counts as constant.
bool is_constant(double variance, double mean, std::int64_t n) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  const double mean_error = static_cast<double>(n) * mean * kEps;
  return variance <= static_cast<double>(n) * kEps * variance + mean_error * mean_error;
}

}  // namespace

template <class T>
StandardScaler<T>::StandardScaler(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo StandardScaler<T>::info() {
  return {.name = "StandardScaler",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Standardise columns by removing the mean and scaling to unit variance.",
          .params = param_set().infos(),
          .attributes = {"mean_", "var_", "scale_", "n_samples_seen_"},
          .deviations = {}};
}

template <class T>
void StandardScaler<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("StandardScaler", X);
  ctx.check_stop();
  Moments moments = column_moments(ctx, X);
  n_samples_seen_ = X.n_rows();
  mean_ = std::move(moments.mean), variance_ = std::move(moments.variance);
  scale_.assign(mean_.size(), 1.0);
  for (std::size_t j = 0; j < scale_.size(); ++j)
    if (!is_constant(variance_[j], mean_[j], n_samples_seen_)) scale_[j] = std::sqrt(variance_[j]);
}

template <class T>
Samples<T> StandardScaler<T>::transform(const Context&, const Samples<T>& X) const {
  require_fitted_columns("StandardScaler", X, mean_.size());
  std::vector<double> factor(scale_.size(), 1.0);
  if (params_.with_std)
    for (std::size_t j = 0; j < factor.size(); ++j) factor[j] = 1.0 / scale_[j];
  return X.then(params_.with_mean ? mean_ : std::vector<double>(mean_.size(), 0.0), factor);
}

template <class T>
schema::ValueMap StandardScaler<T>::attributes() const {
  const bool none = !params_.with_mean && !params_.with_std;
  return {{"mean_", none ? schema::Value() : schema::Value(mean_)},
          {"var_", params_.with_std ? schema::Value(variance_) : schema::Value()},
          {"scale_", params_.with_std ? schema::Value(scale_) : schema::Value()},
          {"n_samples_seen_", n_samples_seen_}};
}

template class StandardScaler<float>;
template class StandardScaler<double>;

}  // namespace kedge::engine
