// SelectFpr, SelectFdr and SelectFwe: columns whose scores are hardly due to chance.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/selection/feature_scores.h"

namespace kedge::engine {

// What alpha bounds: each column's chance to be kept wrongly, the expected share of such columns among those that are
// kept (Benjamini and Hochberg, 1995), or the chance that there is any (Bonferroni).
enum class ErrorRate { kFalsePositives, kFalseDiscoveries, kFamilyWise };

struct ErrorRateParams {
  std::string score_func = "f_classif";
  double alpha = 0.05;
};

// O(n_samples * n_features). Errors: those of feature_scores().
template <class T, ErrorRate kRate>
class ErrorRateSelector final : public Transformer<T> {
 public:
  explicit ErrorRateSelector(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kEachColumn; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  TargetKind target_kind() const override {
    return params_.score_func == "f_regression" ? TargetKind::kValues : TargetKind::kClasses;
  }
  bool accepts_sparse() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {{"scores_", scores_.scores}, {"pvalues_", scores_.p_values}}; }
  void state(StateArchive& archive) override;

 private:
  double threshold() const;   // p values up to it are kept

  ErrorRateParams params_;
  FeatureScores scores_;
  std::vector<std::int32_t> kept_;
};

template <class T>
using SelectFpr = ErrorRateSelector<T, ErrorRate::kFalsePositives>;
template <class T>
using SelectFdr = ErrorRateSelector<T, ErrorRate::kFalseDiscoveries>;
template <class T>
using SelectFwe = ErrorRateSelector<T, ErrorRate::kFamilyWise>;

}   // namespace kedge::engine
