// SelectFromModel and RFE: columns chosen by what a fitted estimator thinks of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct SelectFromModelParams {
  schema::Value estimator;
  schema::Value threshold;
  schema::Value norm_order = std::int64_t{1};
  std::optional<std::int64_t> max_features;
  std::string importance_getter = "auto";
};

// Keeps the columns whose importance (the norm of their coefficients, or feature_importances_) reaches the threshold.
// Cost: that of the estimator. Errors: kBadData for an estimator without importances.
template <class T>
class SelectFromModel final : public Transformer<T> {
 public:
  explicit SelectFromModel(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  TargetKind target_kind() const override { return predictor_.target_kind(); }
  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  double threshold_of(const std::vector<double>& importances) const;

  SelectFromModelParams params_;
  NestedPredictor<T> predictor_;
  std::vector<std::int32_t> kept_;
  std::int64_t n_features_ = 0;
  double threshold_ = 0;
};

struct RfeParams {
  schema::Value estimator;
  schema::Value n_features_to_select;
  schema::Value step = std::int64_t{1};
  std::string importance_getter = "auto";
};

// Recursive feature elimination: fits, leaves out the columns of least importance, and fits again. Cost: (n_features -
// n_features_to_select) / step fits. Errors: as SelectFromModel. Source: Guyon et al., "Gene selection for cancer
// classification using support vector machines", 2002.
template <class T>
class RFE final : public Transformer<T> {
 public:
  explicit RFE(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  TargetKind target_kind() const override { return predictor_.target_kind(); }
  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t wanted(std::int64_t n_features) const;

  RfeParams params_;
  NestedPredictor<T> predictor_;
  std::vector<std::int32_t> kept_;
  std::vector<std::int64_t> ranking_;
};

}   // namespace kedge::engine
