// StandardScaler: each column less its mean, divided by its standard deviation.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct StandardScalerParams {
  bool with_mean = true;
  bool with_std = true;
};

// Moves no data: transform() returns its input with another affine map, which the next reader applies. Mean and
// variance are computed in double in two passes over X, O(n_samples * n_features); missing values are left out and stay
// missing. A column whose variance is not larger than rounding (Chan, Golub and LeVeque 1983, as scikit-learn) is
// centred and not scaled. Errors: kBadData without rows.
template <class T>
class StandardScaler final : public Transformer<T> {
 public:
  explicit StandardScaler(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return true; }
  bool accepts_sparse() const override { return !params_.with_mean; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  StandardScalerParams params_;
  std::vector<double> mean_, variance_, scale_;
  schema::Value n_samples_seen_ = 0;   // a number; by column if they lack different rows
};

}  // namespace kedge::engine
