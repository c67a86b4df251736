// StandardScaler: column moments, and the affine map made of them.
#include "engine/estimators/preprocessing/standard_scaler.h"

#include <algorithm>
#include <cmath>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

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

// The number of rows, or their weight; one for all columns if they agree.
schema::Value samples_seen(const std::vector<double>& count, bool weighted) {
  const auto number = [&](double n) { return weighted ? schema::Value(n) : schema::Value(static_cast<std::int64_t>(n)); };
  if (std::ranges::all_of(count, [&](double n) { return n == count[0]; })) return number(count[0]);
  schema::ValueList by_column;
  for (const double n : count) by_column.push_back(number(n));
  return by_column;
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
          .deviations = {"Columns whose squares leave float64 (beyond 1e154, below 1e-154) are scaled as all others; scikit-learn "
                         "makes 0 or NaN of the large ones and leaves the small ones as they are. var_ may then be infinite or 0."}};
}

template <class T>
void StandardScaler<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows("StandardScaler", X);
  refuse_infinite(ctx, "StandardScaler", X);
  ctx.check_stop();
  PresentMoments moments = present_moments(ctx, X, y.weights);
  n_samples_seen_ = samples_seen(moments.count, !y.weights.empty());
  mean_ = std::move(moments.mean), variance_ = std::move(moments.variance);
  scale_.assign(mean_.size(), 1.0);
  for (std::size_t j = 0; j < scale_.size(); ++j)
    if (moments.deviation[j] != 0) scale_[j] = moments.deviation[j];
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

template <class T>
void StandardScaler<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("mean", mean_, d);
  archive.field("variance", variance_, d);
  archive.field("scale", scale_, d);
  archive.field("n_samples_seen", n_samples_seen_);
}

template class StandardScaler<float>;
template class StandardScaler<double>;

}  // namespace kedge::engine
