// MinMaxScaler: each column mapped onto a given range.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct MinMaxScalerParams {
  schema::Value feature_range = std::vector<double>{0.0, 1.0};
  bool clip = false;
};

// Moves no data unless `clip` is set: transform() returns its input with another affine map. One pass over X,
// O(n_samples * n_features). A constant column is mapped to the lower end of the range; missing values are
// left out and stay missing. Errors: kBadData without rows.
template <class T>
class MinMaxScaler final : public Transformer<T> {
 public:
  explicit MinMaxScaler(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  MinMaxScalerParams params_;
  double low_ = 0, high_ = 1;
  std::vector<double> data_min_, data_max_, scale_;
  std::int64_t n_samples_seen_ = 0;
};

}  // namespace kedge::engine
