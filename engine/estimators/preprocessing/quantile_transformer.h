// QuantileTransformer: each value by its rank, as a uniform or a normal distribution has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct QuantileTransformerParams {
  std::int64_t n_quantiles = 1000;
  std::string output_distribution = "uniform";
  std::optional<std::int64_t> subsample = 10'000, random_state;
};

// More than `subsample` rows are sampled by numpy's RandomState.shuffle, as scikit-learn does it. Missing values are left out and
// stay missing. Cost: a sort of each column, then two binary searches a value. Errors: kBadData without rows.
template <class T>
class QuantileTransformer final : public Transformer<T> {
 public:
  explicit QuantileTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  QuantileTransformerParams params_;
  std::int64_t n_features_ = 0;
  std::vector<double> references_, quantiles_;   // quantiles_: one row a reference
};

}  // namespace kedge::engine
