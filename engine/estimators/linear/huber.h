// HuberRegressor: linear regression that counts rows far from the line by their distance, not its square.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct HuberParams {
  double epsilon = 1.35;
  std::int64_t max_iter = 100;
  double alpha = 1e-4;
  bool fit_intercept = true;
  double tol = 1e-5;
};

// Minimises sum w (s + H(r / s) s) + alpha |coef|^2 over coefficients, intercept and scale s > 0 together, H(t) = t^2
// up to epsilon and linear beyond: convex, by Newton's method in double on columns that are centred and scaled. Cost:
// as Glm. Errors: kBadData without rows or columns, for weights that sum to 0. Source: Huber and Ronchetti, Robust
// Statistics, 2nd edition, section 7.7; Owen 2006.
template <class T>
class HuberRegressor final : public Regressor<T> {
 public:
  explicit HuberRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void find_outliers(const Context& ctx, const Samples<T>& X, const Target& y);

  HuberParams params_;
  std::vector<double> coef_, outliers_;   // outliers_: 1 or 0 a row
  double intercept_ = 0, scale_ = 1;
  std::int64_t n_iter_ = 0;
};

}   // namespace kedge::engine
