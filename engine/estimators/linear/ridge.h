// Ridge: least squares with a penalty on the squares of the coefficients.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/ridge_model.h"

namespace kedge::engine {

// Solved exactly and in double with any `solver`: see RidgeProblem. Errors: kBadData without rows or columns, for
// weights that sum to 0.
template <class T>
class Ridge final : public Regressor<T> {
 public:
  explicit Ridge(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void announce(WorkCache& plan, const std::string& content) const override {
    RidgeModel<T>::announce(plan, content, "values", params_, alphas_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  RidgeOptions params_;
  std::vector<double> alphas_;
  RidgeModel<T> model_;
};

// The parameters that Ridge and RidgeClassifier share, added to a set over a struct that derives from RidgeOptions.
template <class P>
ParamSet<P>& add_ridge_params(ParamSet<P>& set) {
  return set
      .any("alpha", static_cast<schema::Value P::*>(&P::alpha), {number_form(at_least(0)), array_form()},
           "Strength of the penalty; a list has one for each target.")
      .add("fit_intercept", static_cast<bool P::*>(&P::fit_intercept), "Fit an intercept, which is not penalised.")
      .ignore("copy_X", true, {boolean_form()})
      .ignore("max_iter", nullptr, {integer_form(at_least(1)), null_form()})
      .ignore("tol", 1e-4, {number_form(at_least(0))});
}
template <class P>
ParamSet<P>& add_ridge_solver_params(ParamSet<P>& set) {
  return set
      .add("solver", static_cast<std::string P::*>(&P::solver),
           {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"},
           "svd: by singular values; any other: by Cholesky's decomposition, and by singular values where that fails.")
      .add("positive", static_cast<bool P::*>(&P::positive), "Coefficients of at least 0.")
      .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()});
}
std::vector<std::string> ridge_deviations();

}   // namespace kedge::engine
