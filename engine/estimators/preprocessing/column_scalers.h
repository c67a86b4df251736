// MaxAbsScaler and RobustScaler: columns shifted and scaled by their ranges and quantiles.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct MaxAbsScalerParams {
  bool clip = false;
};

// Divides each column by its largest absolute value; moves no data unless `clip` is set. Missing values are left out and stay
// missing. One pass, O(n_samples * n_features). Errors: kBadData without rows.
template <class T>
class MaxAbsScaler final : public Transformer<T> {
 public:
  explicit MaxAbsScaler(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  bool accepts_sparse() const override { return !params_.clip; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  MaxAbsScalerParams params_;
  std::vector<double> max_abs_, scale_;
  std::int64_t n_samples_seen_ = 0;
};

struct RobustScalerParams {
  bool with_centering = true, with_scaling = true;
  schema::Value quantile_range = std::vector<double>{25.0, 75.0};
  bool unit_variance = false;
};

// Subtracts the median of each column and divides by the distance of two quantiles; moves no data. Missing values are left out
// and stay missing. Quantiles are selected, not sorted: O(n_samples * n_features). Errors: kBadData without rows.
template <class T>
class RobustScaler final : public Transformer<T> {
 public:
  explicit RobustScaler(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  RobustScalerParams params_;
  double low_ = 0.25, high_ = 0.75;
  std::vector<double> center_, scale_;
};

}  // namespace kedge::engine
