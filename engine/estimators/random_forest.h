// RandomForestClassifier: bootstrap samples, random columns, fully grown trees, mean class shares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct RandomForestClassifierParams {
  std::int64_t n_estimators = 100;
  std::string criterion = "gini";
  std::optional<std::int64_t> max_depth;
  schema::Value min_samples_split = 2, min_samples_leaf = 1;
  double min_weight_fraction_leaf = 0;
  schema::Value max_features = "sqrt";
  std::optional<std::int64_t> max_leaf_nodes;
  double min_impurity_decrease = 0;
  bool bootstrap = true, oob_score = false;
  std::optional<std::int64_t> random_state;
  bool warm_start = false;
  schema::Value class_weight;
  double ccp_alpha = 0;
  schema::Value max_samples, monotonic_cst;
};

// fit: O(n_estimators * max_features * n_samples * depth) byte reads on the bins of the job's table, which are made once
// for all folds. The same seed gives the same trees on every device and at any number of threads. predict_proba: O(n_estimators * depth) a
// row; rows of the fitted table go through as bytes. Errors: kBadData for NaN, no rows or no columns.
// Source: Breiman, "Random forests", 2001.
template <class T>
class RandomForestClassifier final : public Classifier<T> {
 public:
  explicit RandomForestClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool reads_bins() const override { return true; }
  std::int32_t n_classes() const override { return forest_.n_classes; }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;

 private:
  ForestOptions options_for(const Context& ctx, const Samples<T>& X, const Target& y) const;
  void fit_bins(const Context& ctx, const BinnedTable& table, VectorView<const std::int32_t> rows,
                VectorView<const std::int32_t> codes, const Target& y, const ForestOptions& options);
  void set_oob_score(const std::vector<double>& votes, const Target& y);
  bool has_fitted_codes(const Samples<T>& X) const;

  RandomForestClassifierParams params_;
  PresentClasses present_;
  Forest forest_;                          // thresholds are on the values that fit was given
  std::weak_ptr<Table<T>> fitted_table_;   // whose bytes the trees were grown on; none if a copy was binned
  std::vector<double> shift_, scale_;      // of the fitted samples
  std::vector<double> importances_;
  double oob_score_ = 0;
};

}  // namespace kedge::engine
