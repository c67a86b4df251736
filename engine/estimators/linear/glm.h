// PoissonRegressor, GammaRegressor and TweedieRegressor: generalised linear models with an L2 penalty.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct GlmParams {
  double alpha = 1.0;
  bool fit_intercept = true;
  std::string solver = "lbfgs";
  std::int64_t max_iter = 100;
  double tol = 1e-4;
};
struct TweedieParams : GlmParams {
  double power = 0;
  std::string link = "auto";
};

enum class GlmKind { kPoisson, kGamma, kTweedie };

// Minimises the weighted mean of half the unit deviances of the target, with mean h(x'coef + intercept), plus alpha
// |coef|^2 / 2. Everything in double, on columns that are centred and scaled, so that units do not matter. Cost: up to
// 16,000 rows and 512 columns Newton's method; beyond, a sample of the rows first, then about 6 passes over X. Errors:
// kBadData without rows or columns, for weights that sum to 0, for a target outside of the distribution's range.
template <class T, GlmKind kKind>
class Glm final : public Regressor<T> {
 public:
  explicit Glm(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return kKind == GlmKind::kTweedie; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  bool has_log_link() const;
  void require_range(const Target& y) const;

  TweedieParams params_;
  std::vector<double> coef_;
  double intercept_ = 0;
  std::int64_t n_iter_ = 0;
};

template <class T>
using PoissonRegressor = Glm<T, GlmKind::kPoisson>;
template <class T>
using GammaRegressor = Glm<T, GlmKind::kGamma>;
template <class T>
using TweedieRegressor = Glm<T, GlmKind::kTweedie>;

}   // namespace kedge::engine
