// LogisticRegressionCV: logistic regression with its penalty chosen by cross-validation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/linear/logistic_regression.h"

namespace kedge::engine {

struct LogisticRegressionCVParams {
  schema::Value Cs = std::int64_t{10};
  schema::Value l1_ratios = "warn";
  bool fit_intercept = true;
  std::optional<std::int64_t> cv;
  bool dual = false;
  std::string penalty = "deprecated";
  schema::Value scoring = "warn";
  std::string solver = "lbfgs";
  double tol = 1e-4;
  std::int64_t max_iter = 100;
  schema::Value class_weight;
  bool refit = true;
  double intercept_scaling = 1.0;
  schema::Value use_legacy_attributes = "warn";
};

// StratifiedKFold without shuffling. In each fold, and for each share of the L1 penalty, the Cs in their order, each
// from the solution before; small fits side by side on the CPU's threads. The C and share with the best mean score are
// fitted to all rows, from the mean of the folds' lines; without refit, those lines themselves are averaged. Errors:
// kBadData for a single class, or more folds than rows of every class.
template <class T>
class LogisticRegressionCV final : public Classifier<T> {
 public:
  explicit LogisticRegressionCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::int32_t n_classes() const override { return model_.n_classes(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override {
    model_.predict_proba(ctx, X, proba);
  }
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override {
    model_.decision_function(ctx, X, decision);
  }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override {
    return model_.predict(ctx, X);
  }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  // Fits of one fold for one share, an entry a C.
  struct Chain {
    std::vector<double> scores, n_iter;
    std::vector<std::vector<double>> lines;   // coefficients of all classes, then intercepts
    std::vector<std::string> warnings;
  };

  schema::ValueMap step_params(double C, double ratio, const schema::Value& class_weight) const;
  Chain fit_chain(const Context& ctx, const Samples<T>& X, const Target& y, std::span<const std::int32_t> folds,
                  std::size_t chain, const schema::Value& class_weight) const;
  double score(const Context& ctx, const LogisticRegression<T>& model, const Samples<T>& X, const Target& y) const;
  void choose(const Context& ctx, const Samples<T>& X, const Target& y, const std::vector<Chain>& chains,
              const schema::Value& class_weight);
  void average(const std::vector<Chain>& chains, std::int64_t n_features);
  schema::Value by_fold(const std::vector<double>& cells, std::size_t width, bool is_legacy) const;
  std::size_t n_lines() const { return present_.size() == 2 ? 1 : static_cast<std::size_t>(present_.size()); }

  LogisticRegressionCVParams params_;
  std::vector<double> Cs_, ratios_;   // ratios_: one, if none were given
  bool has_ratios_ = false;
  PresentClasses present_;
  std::int64_t n_folds_ = 0;
  std::vector<double> scores_, n_iter_,
      lines_;   // folds x ratios x Cs; lines_: times lines x (columns and the intercept)
  double C_ = 1, l1_ratio_ = 0;
  LogisticRegression<T> model_;
};

}   // namespace kedge::engine
