// MinMaxScaler: column ranges, and the affine map made of them.
#include "engine/estimators/preprocessing/min_max_scaler.h"

#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = MinMaxScalerParams;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>("MinMaxScaler")
          .any("feature_range", &P::feature_range, {array_form()}, "Lower and upper end of the result, as a list of two.")
          .add("clip", &P::clip, "Clip values outside the range, which new data may have.")
          .ignore("copy", true, {boolean_form()});
  return set;
}

}  // namespace

template <class T>
MinMaxScaler<T>::MinMaxScaler(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const std::vector<double> range = *numbers_of(params_.feature_range);
  if (range.size() != 2) refuse_param("MinMaxScaler", "feature_range", params_.feature_range, "must have two numbers");
  low_ = range[0], high_ = range[1];
  if (!(low_ < high_))
    refuse_param("MinMaxScaler", "feature_range", params_.feature_range, "must have its smaller number first");
}

template <class T>
schema::EstimatorInfo MinMaxScaler<T>::info() {
  return {.name = "MinMaxScaler",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Scale each column to a given range.",
          .params = param_set().infos(),
          .attributes = {"min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"},
          .deviations = {}};
}

template <class T>
void MinMaxScaler<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("MinMaxScaler", X);
  refuse_infinite(ctx, "MinMaxScaler", X);
  ctx.check_stop();
  Ranges ranges = column_ranges(ctx, X);
  data_min_ = std::move(ranges.minimum), data_max_ = std::move(ranges.maximum);
  n_samples_seen_ = X.n_rows();
  constexpr double kTiny = 10.0 * std::numeric_limits<T>::epsilon();   // below it a column counts as constant
  scale_.resize(data_min_.size());
  for (std::size_t j = 0; j < scale_.size(); ++j) {
    const double range = data_max_[j] - data_min_[j];
    scale_[j] = (high_ - low_) / (range < kTiny ? 1.0 : range);
  }
}

// scikit-learn's x * scale_ + min_ with min_ = low - data_min_ * scale_, written as (x - shift) * scale.
template <class T>
Samples<T> MinMaxScaler<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("MinMaxScaler", X, scale_.size());
  std::vector<double> shift(scale_.size());
  for (std::size_t j = 0; j < shift.size(); ++j) shift[j] = data_min_[j] - low_ / scale_[j];
  const Samples<T> scaled = X.then(shift, scale_);
  if (!params_.clip) return scaled;
  Matrix<T> clipped;
  scaled.values(ctx, clipped);
  ctx.ops<T>().tables->clip(clipped.view(), static_cast<T>(low_), static_cast<T>(high_));
  return samples_of(std::move(clipped));
}

template <class T>
schema::ValueMap MinMaxScaler<T>::attributes() const {
  std::vector<double> offset(scale_.size()), range(scale_.size());
  for (std::size_t j = 0; j < scale_.size(); ++j) {
    offset[j] = low_ - data_min_[j] * scale_[j];
    range[j] = data_max_[j] - data_min_[j];
  }
  return {{"min_", offset},          {"scale_", scale_},      {"data_min_", data_min_},
          {"data_max_", data_max_}, {"data_range_", range}, {"n_samples_seen_", n_samples_seen_}};
}

template <class T>
void MinMaxScaler<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("data_min", data_min_, d);
  archive.field("data_max", data_max_, d);
  archive.field("scale", scale_, d);
  archive.number("n_samples_seen", n_samples_seen_, 0, kMaxSize);
}

template class MinMaxScaler<float>;
template class MinMaxScaler<double>;

}  // namespace kedge::engine
