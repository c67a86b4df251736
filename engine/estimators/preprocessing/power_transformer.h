// PowerTransformer: a power of each column that makes it as normal as can be.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/preprocessing/scalar_search.h"

namespace kedge::engine {

struct PowerTransformerParams {
  std::string method = "yeo-johnson";
  bool standardize = true;
};

// The lambda of each column maximises the likelihood of a normal distribution, found by SciPy's searches in lockstep: every
// evaluation is one pass over all columns, so fit() is O(n_samples * n_features) times about 40. Missing values are left out and
// stay missing. Errors: kBadData, naming the column, for one without values, and with box-cox for a value of at most 0 or a
// constant one. Source: Yeo and Johnson, Biometrika 87, 2000; Box and Cox, J. R. Stat. Soc. B 26, 1964.
template <class T>
class PowerTransformer final : public Transformer<T> {
 public:
  explicit PowerTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {{"lambdas_", lambdas_}}; }
  void state(StateArchive& archive) override;

 private:
  void check_columns(const Samples<T>& X, const Ranges& ranges) const;
  std::vector<Search<double>> searches(const Context& ctx, const Samples<T>& X, const Ranges& ranges) const;
  void find_lambdas(const Context& ctx, const Samples<T>& logs, std::vector<Search<double>>& searches, const Ranges& ranges);
  Samples<T> powers(const Context& ctx, const Samples<T>& X) const;

  PowerTransformerParams params_;
  std::vector<double> lambdas_, mean_, factor_;   // factor_: 1 / standard deviation of the transformed column
};

}  // namespace kedge::engine
