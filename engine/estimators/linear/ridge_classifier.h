// RidgeClassifier: ridge regression on targets of 1 for a class and -1 for the others.
#pragma once

#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/linear/ridge.h"

namespace kedge::engine {

struct RidgeClassifierParams : RidgeOptions {
  schema::Value class_weight;
};

// One target for two classes, otherwise one for each: see RidgeProblem. No probabilities. A single class is always
// predicted. Errors: kBadData without rows or columns, for weights that sum to 0; kInvalidValue for a class_weight of
// an unknown class.
template <class T>
class RidgeClassifier final : public Classifier<T> {
 public:
  explicit RidgeClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void announce(WorkCache& plan, const std::string& content) const override {
    RidgeModel<T>::announce(plan, content, schema::to_string(params_.class_weight), params_, alphas_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override { return false; }
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  RidgeClassifierParams params_;
  std::vector<double> alphas_;
  PresentClasses present_;
  std::int64_t n_features_ = 0;
  RidgeModel<T> model_;
};

}   // namespace kedge::engine
