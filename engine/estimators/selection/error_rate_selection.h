// SelectFpr, SelectFdr and SelectFwe: columns whose scores are hardly due to chance.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/selection/feature_selection.h"
#include "engine/estimators/selection/score_choice.h"

namespace kedge::engine {

struct ErrorRateParams {
  std::string score_func = "f_classif";
  double alpha = 0.05;
};

// O(n_samples * n_features). Errors: those of feature_scores().
template <class T, ErrorRate kRate>
class ErrorRateSelector final : public ScoreSelector<T> {
 public:
  explicit ErrorRateSelector(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 protected:
  std::vector<bool> support(const Context& ctx, const FeatureScores& found) const override;

 private:
  explicit ErrorRateSelector(ErrorRateParams params);
  ErrorRateParams params_;
};

template <class T>
using SelectFpr = ErrorRateSelector<T, ErrorRate::kFalsePositives>;
template <class T>
using SelectFdr = ErrorRateSelector<T, ErrorRate::kFalseDiscoveries>;
template <class T>
using SelectFwe = ErrorRateSelector<T, ErrorRate::kFamilyWise>;

}   // namespace kedge::engine
