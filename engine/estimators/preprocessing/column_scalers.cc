// MaxAbsScaler and RobustScaler: column statistics, and the affine map made of them.
#include "engine/estimators/preprocessing/column_scalers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/column_functors.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

const ParamSet<MaxAbsScalerParams>& max_abs_params() {
  using P = MaxAbsScalerParams;
  static const ParamSet<P> set = ParamSet<P>("MaxAbsScaler")
                                     .ignore("copy", true, {boolean_form()})
                                     .add("clip", &P::clip, "Clip values outside -1 to 1, which new data may have.");
  return set;
}

const ParamSet<RobustScalerParams>& robust_params() {
  using P = RobustScalerParams;
  static const ParamSet<P> set =
      ParamSet<P>("RobustScaler")
          .add("with_centering", &P::with_centering, "Subtract the median of each column.")
          .add("with_scaling", &P::with_scaling, "Divide each column by the distance of its quantiles.")
          .any("quantile_range", &P::quantile_range, {array_form()}, "Lower and upper quantile in percent, as a list of two.")
          .ignore("copy", true, {boolean_form()})
          .add("unit_variance", &P::unit_variance, "Scale so that normally distributed columns get variance 1.");
  return set;
}

// A scale too small to divide by is that of a constant column, and left out.
template <class T>
double usable_scale(double scale) {
  return scale < 10.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) ? 1.0 : scale;
}

std::vector<double> inverses(const std::vector<double>& scale) {
  std::vector<double> factor;
  for (const double s : scale) factor.push_back(1 / s);
  return factor;
}

}  // namespace

template <class T>
MaxAbsScaler<T>::MaxAbsScaler(const schema::ValueMap& params) : params_(max_abs_params().parse(params)) {}

template <class T>
schema::EstimatorInfo MaxAbsScaler<T>::info() {
  return {.name = "MaxAbsScaler",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Scale each column by its largest absolute value.",
          .params = max_abs_params().infos(),
          .attributes = {"scale_", "max_abs_", "n_samples_seen_"},
          .deviations = {}};
}

template <class T>
void MaxAbsScaler<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("MaxAbsScaler", X);
  refuse_infinite(ctx, "MaxAbsScaler", X);
  ctx.check_stop();
  const Ranges ranges = column_ranges(ctx, X);
  max_abs_.clear(), scale_.clear();
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j) {
    max_abs_.push_back(std::max(std::abs(ranges.minimum[j]), std::abs(ranges.maximum[j])));
    scale_.push_back(usable_scale<T>(max_abs_[j]));
  }
  n_samples_seen_ = X.n_rows();
}

template <class T>
Samples<T> MaxAbsScaler<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("MaxAbsScaler", X, scale_.size());
  const Samples<T> scaled = X.then(std::vector<double>(scale_.size(), 0.0), inverses(scale_));
  if (!params_.clip) return scaled;
  Matrix<T> clipped;
  scaled.values(ctx, clipped);
  ctx.ops<T>().tables->clip(clipped.view(), T{-1}, T{1});
  return samples_of(std::move(clipped));
}

template <class T>
schema::ValueMap MaxAbsScaler<T>::attributes() const {
  return {{"scale_", scale_}, {"max_abs_", max_abs_}, {"n_samples_seen_", n_samples_seen_}};
}

template <class T>
RobustScaler<T>::RobustScaler(const schema::ValueMap& params) : params_(robust_params().parse(params)) {
  const std::vector<double> range = *numbers_of(params_.quantile_range);
  if (range.size() != 2 || !(0 <= range[0] && range[0] <= range[1] && range[1] <= 100))
    refuse_param("RobustScaler", "quantile_range", params_.quantile_range, "must be two ascending numbers from 0 to 100");
  low_ = range[0] / 100, high_ = range[1] / 100;
  if (params_.unit_variance && (low_ == 0 || high_ == 1 || low_ == high_))
    refuse_param("RobustScaler", "quantile_range", params_.quantile_range,
                 "must be two different numbers inside 0 to 100 with unit_variance");
}

template <class T>
schema::EstimatorInfo RobustScaler<T>::info() {
  return {.name = "RobustScaler",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Scale columns by statistics that outliers do not move.",
          .params = robust_params().infos(),
          .attributes = {"center_", "scale_"},
          .deviations = {"unit_variance with a quantile_range that is empty or ends at 0 or 100 is refused; scikit-learn divides "
                         "by 0 or infinity."}};
}

template <class T>
void RobustScaler<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("RobustScaler", X);
  refuse_infinite(ctx, "RobustScaler", X);
  ctx.check_stop();
  const std::vector<double> quantiles = column_quantiles(ctx, X, {0.5, low_, high_});
  const auto d = static_cast<std::size_t>(X.n_cols());
  const double adjust = params_.unit_variance ? normal_quantile(high_) - normal_quantile(low_) : 1.0;
  center_.assign(quantiles.begin(), quantiles.begin() + X.n_cols());
  scale_.clear();
  for (std::size_t j = 0; j < d; ++j) scale_.push_back(usable_scale<T>(quantiles[2 * d + j] - quantiles[d + j]) / adjust);
}

template <class T>
Samples<T> RobustScaler<T>::transform(const Context&, const Samples<T>& X) const {
  require_fitted_columns("RobustScaler", X, scale_.size());
  return X.then(params_.with_centering ? center_ : std::vector<double>(scale_.size(), 0.0),
                params_.with_scaling ? inverses(scale_) : std::vector<double>(scale_.size(), 1.0));
}

template <class T>
schema::ValueMap RobustScaler<T>::attributes() const {
  return {{"center_", params_.with_centering ? schema::Value(center_) : schema::Value()},
          {"scale_", params_.with_scaling ? schema::Value(scale_) : schema::Value()}};
}

template <class T>
void MaxAbsScaler<T>::state(StateArchive& archive) {
  archive.field("max_abs", max_abs_, archive.n_features());
  archive.field("scale", scale_, archive.n_features());
  archive.number("n_samples_seen", n_samples_seen_, 0, kMaxSize);
}

template <class T>
void RobustScaler<T>::state(StateArchive& archive) {
  archive.field("center", center_, archive.n_features());
  archive.field("scale", scale_, archive.n_features());
}

template class MaxAbsScaler<float>;
template class MaxAbsScaler<double>;
template class RobustScaler<float>;
template class RobustScaler<double>;

}  // namespace kedge::engine
