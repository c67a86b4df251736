// LinearSVC and LinearSVR: lines with the largest margin, in the primal.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct LinearSvmParams {
  double C = 1.0;
  bool fit_intercept = true;
  double intercept_scaling = 1.0;
  double tol = 1e-4;
  std::int64_t max_iter = 1000;
  schema::Value dual = "auto";
};
struct LinearSVCParams : LinearSvmParams {
  std::string penalty = "l2", loss = "squared_hinge", multi_class = "ovr";
  schema::Value class_weight;
};
struct LinearSVRParams : LinearSvmParams {
  std::string loss = "epsilon_insensitive";
  double epsilon = 0.0;
};

// Minimises |w|^2 / 2 (or |w|_1) + C sum of losses, LIBLINEAR's objective, whose intercept is a coefficient of a column
// of intercept_scaling and penalised. Squared losses by Newton's method on a sample and then on all rows, with L1 by
// coordinate descent in Newton's steps; hinge and tube to a duality gap of 1e-9. One line a class, each against all
// others. In double. Errors: kBadData without rows or columns, for one class, for weights that sum to 0.
template <class T>
class LinearSVC final : public Classifier<T> {
 public:
  explicit LinearSVC(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override { return false; }
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  LinearSVCParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0, n_iter_ = 0;
  std::vector<double> coef_, intercept_;   // one row for two classes, otherwise one for each
};

template <class T>
class LinearSVR final : public Regressor<T> {
 public:
  explicit LinearSVR(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  LinearSVRParams params_;
  std::int64_t n_iter_ = 0;
  std::vector<double> coef_;
  double intercept_ = 0;
};

}   // namespace kedge::engine
