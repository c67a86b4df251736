// SplineTransformer: each column as the values of a basis of B-splines.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct SplineTransformerParams {
  std::int64_t n_knots = 5, degree = 3;
  schema::Value knots = "uniform";
  std::string extrapolation = "constant";
  bool include_bias = true;
  std::string handle_missing = "error";
};

// Knots are evenly spaced between the ends of each column, or its quantiles, or given; rows of weight 0 count for nothing.
// transform() is O(n_samples * n_features * degree^2). Errors: kBadData for fewer than 2 rows, and, with extrapolation "error",
// for a value beyond the knots, naming the column. Source: de Boor, A Practical Guide to Splines, 1978; Eilers and Marx 1996 for
// the outer knots.
template <class T>
class SplineTransformer final : public Transformer<T> {
 public:
  explicit SplineTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return params_.handle_missing == "zeros"; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> base_knots(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) const;
  std::vector<double> uniform_knots(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) const;
  std::vector<double> quantile_knots(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) const;
  void refuse_beyond(const Context& ctx, const Samples<T>& X) const;

  SplineTransformerParams params_;
  std::vector<std::vector<double>> given_knots_;   // rows of `knots`, if it is an array
  std::int64_t n_features_ = 0, n_knots_ = 0;      // n_knots_: of a column, outer ones included
  std::vector<double> knots_;                      // n_features x n_knots
};

}  // namespace kedge::engine
