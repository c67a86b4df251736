// Decision trees, random forests and extremely randomised trees, for classes and for values.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/trees/tree_model.h"
#include "engine/estimators/trees/tree_params.h"

namespace kedge::engine {

// fit: O(n_estimators * max_features * n_samples * depth) byte reads on the bins of the job's table, which are made
// once for all folds; single trees look at every cut of columns with more than 256 values (TreeOps::grow_exact). The
// same seed gives the same trees on every device and at any number of threads. Predictions: O(n_estimators * depth) a
// row; rows of the fitted table go through as bytes. Sample weights: where rows are drawn, in proportion to them, as in
// scikit-learn 1.9; otherwise they weigh the rows. Errors: kBadData for no rows or columns, or weights that sum to 0.
// Sources: Breiman, "Random forests", 2001; Geurts, Ernst, Wehenkel, "Extremely randomized trees", 2006.
template <class T>
class TreeClassifier : public Classifier<T>, public Contributor<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool reads_bins() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override {
    return model_.contributions(ctx, owner_, X, division);
  }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  TreeClassifier(const char* owner, TreeParams params, bool is_single);

 private:
  void weigh(const Target& y, ForestOptions& options, std::vector<double>& weights) const;
  void set_oob_score(const Target& y);

  const char* owner_;
  TreeParams params_;
  bool is_single_;   // a tree, not a forest
  PresentClasses present_;
  TreeModel<T> model_;
  double oob_score_ = 0;
};

// As TreeClassifier. Errors: also kBadData for criterion poisson and negative values, or values that are all 0.
template <class T>
class TreeRegressor : public Regressor<T>, public Contributor<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  bool reads_bins() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override {
    return model_.contributions(ctx, owner_, X, division);
  }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  TreeRegressor(const char* owner, TreeParams params, bool is_single);

 private:
  void set_oob_score(const Target& y);

  const char* owner_;
  TreeParams params_;
  bool is_single_;
  TreeModel<T> model_;
  std::vector<double> oob_prediction_;
  double oob_score_ = 0;
};

template <class T>
class RandomForestClassifier final : public TreeClassifier<T> {
 public:
  explicit RandomForestClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};
template <class T>
class ExtraTreesClassifier final : public TreeClassifier<T> {
 public:
  explicit ExtraTreesClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};
template <class T>
class DecisionTreeClassifier final : public TreeClassifier<T> {
 public:
  explicit DecisionTreeClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};
template <class T>
class RandomForestRegressor final : public TreeRegressor<T> {
 public:
  explicit RandomForestRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};
template <class T>
class ExtraTreesRegressor final : public TreeRegressor<T> {
 public:
  explicit ExtraTreesRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};
template <class T>
class DecisionTreeRegressor final : public TreeRegressor<T> {
 public:
  explicit DecisionTreeRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}  // namespace kedge::engine
