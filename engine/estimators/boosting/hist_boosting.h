// Histogram gradient boosting, for classes and for values.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/boosting/hist_model.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// fit: O(max_iter * n_features * (n_samples * log(max_leaf_nodes) + max_leaf_nodes * max_bins)) on bytes; with more
// than two classes as often as there are classes. The same seed gives the same trees at any number of threads and
// beside every device, for histograms are sums of integers. Missing values go to the side where they fit better;
// nominal columns are cut into two sets of categories. Predictions: O(trees * depth) a row. Errors: kBadData for no
// rows or columns, weights that sum to 0, too many categories, or gradients that are not finite. Sources: Friedman,
// "Greedy function approximation: a gradient boosting machine", 2001; Ke and others, "LightGBM", 2017; Shi and others,
// "Quantized training of gradient boosting decision trees", 2022.
template <class T>
class HistGradientBoostingClassifier final : public Classifier<T>, public Contributor<T> {
 public:
  explicit HistGradientBoostingClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  void announce(WorkCache& plan, const std::string& content) const override;
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  HistBoostingParams params_;
  PresentClasses present_;
  HistModel<T> model_;
};

// As the classifier. Errors: also kBadData for loss poisson and negative values or values that are all 0, for loss
// gamma and values that are not above 0.
template <class T>
class HistGradientBoostingRegressor final : public Regressor<T>, public Contributor<T> {
 public:
  explicit HistGradientBoostingRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  void announce(WorkCache& plan, const std::string& content) const override;
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  HistBoostingParams params_;
  HistModel<T> model_;
};

}   // namespace kedge::engine
