// RidgeCV: ridge regression with its penalty chosen by leaving one row out, exactly, or by folds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/ridge_solver.h"

namespace kedge::engine {

struct RidgeCVParams {
  schema::Value alphas = std::vector<double>{0.1, 1.0, 10.0};
  bool fit_intercept = true;
  std::optional<std::string> scoring;
  std::optional<std::int64_t> cv;
  std::optional<std::string> gcv_mode;
  bool store_cv_results = false;
  bool alpha_per_target = false;
};

// Without cv: one eigendecomposition of the Gram matrix of the columns, or of the rows where they are fewer, gives the error of
// each row under the model of all others, for all alphas. Cost: n d min(n, d), and n min(n, d) an alpha. With cv: KFold, one Gram
// matrix a fold. Errors: kBadData without rows or for fewer rows than folds. Source: Rifkin and Lippert, "Notes on regularized
// least squares", 2007.
template <class T>
class RidgeCV final : public Regressor<T> {
 public:
  explicit RidgeCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> fold_scores(const Context& ctx, const Samples<T>& X, const Target& y) const;
  std::vector<double> left_out_scores(const Context& ctx, RidgeProblem<T>& problem, const Target& y);

  RidgeCVParams params_;
  std::vector<double> alphas_, cv_results_;
  double alpha_ = 0, best_score_ = 0;
  RidgeSolution solution_;
};

}   // namespace kedge::engine
