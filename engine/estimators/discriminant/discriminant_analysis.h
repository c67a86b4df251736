// LinearDiscriminantAnalysis: a normal distribution for each class with a common covariance; classifies, and projects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/discriminant/class_scatter.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct LinearDiscriminantAnalysisParams {
  std::string solver = "svd";
  schema::Value shrinkage, priors;
  std::optional<std::int64_t> n_components;
  bool store_covariance = false;
  double tol = 1e-4;
};

// fit, with d columns and k classes: svd reduces the centred rows to a triangle, O(n d^2), and never forms a covariance; lsqr and
// eigen form one for each class, in double, about the class's mean. predict: O(n d k). Errors: kBadData for fewer than two
// classes, no more rows than classes, or (eigen) a singular covariance; kInvalidValue for priors that do not fit the classes.
// Source: Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning", section 4.3; shrinkage: Ledoit and Wolf, J.
// Portfolio Management 30(4), 2004.
template <class T>
class LinearDiscriminantAnalysis final : public Classifier<T>, public Transformer<T> {
 public:
  explicit LinearDiscriminantAnalysis(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kEachColumn; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void set_priors(const Context& ctx, const Target& y);
  void solve_svd(const Context& ctx, const ClassScatter<T>& scatter);
  void solve_lsqr(const Context& ctx);
  void solve_eigen(const Context& ctx, const ClassScatter<T>& scatter);
  void set_intercepts();
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const;  // n x present classes

  LinearDiscriminantAnalysisParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_scalings_ = 0;
  std::vector<double> priors_, means_, xbar_, covariance_;
  std::vector<double> coef_, intercept_;                     // of each class: k x d, k
  std::vector<double> scalings_, explained_variance_ratio_;  // scalings_: n_scalings_ x d, a projection a row
};

}  // namespace kedge::engine
