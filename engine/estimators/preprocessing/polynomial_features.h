// PolynomialFeatures: all products of columns up to a degree.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct PolynomialFeaturesParams {
  schema::Value degree = 2;
  bool interaction_only = false;
  bool include_bias = true;
};

// Columns in scikit-learn's order: by degree, then as itertools.combinations_with_replacement gives them. Each is one product of
// a feature and an earlier column: O(n_samples * n_output_features). Errors: kBadData without rows, or for more than 2^31 - 1
// columns.
template <class T>
class PolynomialFeatures final : public Transformer<T> {
 public:
  explicit PolynomialFeatures(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  PolynomialFeaturesParams params_;
  std::int64_t least_degree_ = 0, most_degree_ = 2;
  std::int64_t n_features_ = 0;
  std::vector<std::int32_t> feature_, parent_;   // of every monomial up to most_degree_, the constant one first
  std::vector<std::int32_t> kept_;               // columns of the result among them, ascending
  std::vector<std::int32_t> degree_;             // of each monomial
};

}  // namespace kedge::engine
