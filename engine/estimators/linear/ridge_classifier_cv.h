// RidgeClassifierCV: ridge classification with its penalty chosen by leaving one row out, exactly, or by folds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/ridge_solver.h"

namespace kedge::engine {

struct RidgeClassifierCVParams {
  schema::Value alphas = std::vector<double>{0.1, 1.0, 10.0};
  bool fit_intercept = true;
  std::optional<std::string> scoring;
  std::optional<std::int64_t> cv;
  schema::Value class_weight;
  bool store_cv_results = false;
};

// Targets of 1 for a class and -1 for the others. Without cv: see left_out_errors(). With cv: StratifiedKFold, one Gram
// matrix a fold. Errors: kBadData without rows, for a single row without cv, for more folds than rows of every class.
template <class T>
class RidgeClassifierCV final : public Classifier<T> {
 public:
  explicit RidgeClassifierCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override { return false; }
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> left_out_scores(const Context& ctx, RidgeProblem<T>& problem, const Target& y,
                                      const std::vector<double>& weights);
  std::vector<double> fold_scores(const Context& ctx, const Samples<T>& X, const Target& y,
                                  const std::vector<double>& by_class) const;

  RidgeClassifierCVParams params_;
  std::vector<double> alphas_, cv_results_;   // cv_results_: rows x (targets x alphas)
  PresentClasses present_;
  std::int64_t n_features_ = 0;
  double alpha_ = 0, best_score_ = 0;
  RidgeSolution solution_;
};

}   // namespace kedge::engine
