// TransformedTargetRegressor: a regressor of a function of the target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct TransformedTargetParams {
  schema::Value regressor;
  std::optional<std::string> func, inverse_func;
  bool check_inverse = true;
};

// Fits the regressor to func(y), and answers inverse_func of what it predicts. Errors: kBadData for a target that func
// does not take, naming the value; the regressor's.
template <class T>
class TransformedTargetRegressor final : public Regressor<T> {
 public:
  explicit TransformedTargetRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool takes_weights() const override { return predictor_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {{"regressor_", predictor_.attributes()}}; }
  void state(StateArchive& archive) override { predictor_.state(archive); }

 private:
  TransformedTargetParams params_;
  NestedPredictor<T> predictor_;
};

}   // namespace kedge::engine
