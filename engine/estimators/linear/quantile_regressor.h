// QuantileRegressor: a line through a quantile of the target, with an L1 penalty, in time linear in the rows.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct QuantileParams {
  double quantile = 0.5;
  double alpha = 1.0;
  bool fit_intercept = true;
  std::string solver = "highs";
};

// Minimises the weighted mean of the pinball loss + alpha |coef|_1 by an interior point method: some 15 to 30 Gram
// matrices, each one pass over X. Errors: kBadData without rows or columns, or for weights that sum to 0. Warns through
// the context where rounding ends the iterations early. Source: Portnoy and Koenker, "The Gaussian hare and the
// Laplacian tortoise", Statistical Science 12(4), 1997; predictor and corrector of Mehrotra, SIAM J. Optimization 2(4),
// 1992.
template <class T>
class QuantileRegressor final : public Regressor<T> {
 public:
  explicit QuantileRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  QuantileParams params_;
  std::vector<double> coef_;
  double intercept_ = 0;
  std::int64_t n_iter_ = 0;
};

}   // namespace kedge::engine
