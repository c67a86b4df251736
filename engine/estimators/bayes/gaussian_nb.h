// GaussianNB: naive Bayes with a normal distribution for each class and column.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct GaussianNBParams {
  schema::Value priors;
  double var_smoothing = 1e-9;
};

// fit: the moments of each class, and from them the largest column variance, O(n_samples * n_features), sums in double; rows of
// a table that no scaler changes are not copied. predict: O(n_samples * n_features * n_classes). Where every variance is 0 (constant input) a variance of 1e-9 stands in, so
// that the priors decide. Errors: kBadData without rows, kInvalidValue for priors that do not fit the classes.
// Source: Zhang, "The optimality of naive Bayes", FLAIRS 2004; smoothing as in scikit-learn.
template <class T>
class GaussianNB final : public Classifier<T> {
 public:
  explicit GaussianNB(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kEachColumn; }
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void set_priors(const Target& y);
  double largest_variance(const Context& ctx, const Samples<T>& X, const Target& y) const;

  GaussianNBParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0;
  double epsilon_ = 0;
  std::vector<double> class_count_, class_prior_, theta_, variance_;   // theta_, variance_: classes x features
};

}  // namespace kedge::engine
