// IsotonicRegression: the nearest function of one column that never falls, or never rises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/isotonic_curve.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct IsotonicRegressionParams {
  std::optional<double> y_min, y_max;
  schema::Value increasing = true;
  std::string out_of_bounds = "nan";
};

// Sorts the rows by their one column and pools them on the host; transform() is predict() as a column. O(n log n).
// Errors: kBadData for another number of columns than 1, for weights that are all 0, and with out_of_bounds "raise" for
// a value beyond the fitted ones.
template <class T>
class IsotonicRegression final : public Regressor<T>, public Transformer<T> {
 public:
  explicit IsotonicRegression(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool squares_target() const override { return true; }   // the ranges of sums
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  bool is_increasing(const Context& ctx, const std::vector<double>& x, const Target& y) const;

  IsotonicRegressionParams params_;
  IsotonicCurve curve_;
  bool increasing_ = true;
};

}   // namespace kedge::engine
