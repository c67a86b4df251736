// QuadraticDiscriminantAnalysis: a normal distribution with a covariance of its own for each class.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/discriminant/class_scatter.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct QuadraticDiscriminantAnalysisParams {
  std::string solver = "svd";
  schema::Value shrinkage, priors;
  double reg_param = 0, tol = 1e-4;
  bool store_covariance = false;
};

// fit: singular values of each class's centred rows (by a triangle, in double) or eigenvalues of its covariance, O(n d^2).
// predict: O(n d^2 k). Errors: kBadData for fewer than two classes, a class of one row, or one whose covariance is singular;
// kInvalidValue for priors that do not fit the classes. Source: Hastie, Tibshirani and Friedman, "The Elements of Statistical
// Learning", section 4.3.
template <class T>
class QuadraticDiscriminantAnalysis final : public Classifier<T> {
 public:
  explicit QuadraticDiscriminantAnalysis(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kEachColumn; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Shape {  // of a class: variances along its axes, largest first, and the axes as rows (d x d)
    std::vector<double> scalings, axes, covariance;
  };
  Shape by_svd(const Context& ctx, const ClassScatter<T>& scatter, std::int32_t position) const;
  Shape by_eigen(const Context& ctx, const ClassScatter<T>& scatter, std::int32_t position) const;
  void require_full_rank(const Shape& shape, std::int32_t position) const;
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const;  // n x present classes

  QuadraticDiscriminantAnalysisParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0;
  std::vector<double> priors_, means_;
  std::vector<Shape> shapes_;
};

}  // namespace kedge::engine
