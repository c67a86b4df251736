// LarsCV and LassoLarsCV: the end of a path of least angles chosen by cross-validation.
#pragma once

#include <vector>

#include "engine/estimators/linear/elastic_net_folds.h"
#include "engine/estimators/linear/lars.h"

namespace kedge::engine {

// KFold without shuffling. One pass over X gives the products of each test fold, a training set's are the sum of the
// others; paths of all training sets are walked on these, and errors between their knots are quadratic forms. The alpha
// with the least mean squared error ends the path of all rows. Errors: kBadData for fewer rows than folds.
template <class T>
class LarsCVModel : public LarsModel<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  using LarsModel<T>::LarsModel;

 private:
  void choose(const Context& ctx, const LinearProblem<T>& problem, const std::vector<FoldRange>& folds);

  std::vector<double> cv_alphas_, mse_;   // mse_: alphas x folds
  std::int64_t n_folds_ = 0;
  double alpha_ = 0;
};

template <class T>
class LarsCV final : public LarsCVModel<T> {
 public:
  explicit LarsCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class LassoLarsCV final : public LarsCVModel<T> {
 public:
  explicit LassoLarsCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
