// GradientBoostingClassifier and GradientBoostingRegressor: boosting on every cut of every column.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/boosting/gradient_model.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

// The trees are scikit-learn's for the same random_state (stage_grower.h). They grow on the host: O(n_samples *
// n_features * max_depth) for each, after one sort of the columns. Predictions run on the device. Errors: those of
// GradientModel; kBadData for fewer than 2 classes, and for loss exponential for more.
template <class T>
class GradientBoostingClassifier final : public Classifier<T>, public Contributor<T> {
 public:
  explicit GradientBoostingClassifier(const schema::ValueMap& params)
      : params_(gradient_classifier_params().parse(params)) {}
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  void announce(WorkCache& plan, const std::string& content) const override;
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  StageLoss loss() const;

  GradientClassifierParams params_;
  PresentClasses present_;
  GradientModel<T> model_;
};

template <class T>
class GradientBoostingRegressor final : public Regressor<T>, public Contributor<T> {
 public:
  explicit GradientBoostingRegressor(const schema::ValueMap& params)
      : params_(gradient_regressor_params().parse(params)) {}
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  void announce(WorkCache& plan, const std::string& content) const override;
  bool takes_weights() const override { return true; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override;
  schema::ValueMap attributes() const override { return model_.attributes(); }
  void state(StateArchive& archive) override;

 private:
  StageLoss loss() const;

  GradientParams params_;
  GradientModel<T> model_;
};

}   // namespace kedge::engine
