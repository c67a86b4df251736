// GenericUnivariateSelect: columns by their scores, in a way that a parameter names.
#pragma once

#include "engine/estimators/selection/feature_selection.h"

namespace kedge::engine {

struct GenericUnivariateSelectParams {
  std::string score_func = "f_classif";
  std::string mode = "percentile";
  schema::Value param = 1e-5;
};

// Keeps what SelectPercentile, SelectKBest, SelectFpr, SelectFdr or SelectFwe keeps with this parameter.
// O(n_samples * n_features). Errors: kInvalidValue for a param that the mode does not take; those of feature_scores().
template <class T>
class GenericUnivariateSelect final : public ScoreSelector<T> {
 public:
  explicit GenericUnivariateSelect(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 protected:
  std::vector<bool> support(const Context& ctx, const FeatureScores& found) const override;

 private:
  explicit GenericUnivariateSelect(GenericUnivariateSelectParams params);
  GenericUnivariateSelectParams params_;
};

}   // namespace kedge::engine
