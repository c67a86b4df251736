// LogisticRegression: linear classification by the penalised logistic loss.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/logistic_objective.h"
#include "engine/estimators/linear/logistic_solvers.h"

namespace kedge::engine {

struct LogisticRegressionParams {
  schema::Value penalty = "deprecated";
  schema::Value C = 1.0;
  std::optional<double> l1_ratio = 0.0;
  bool dual = false;
  double tol = 1e-4;
  bool fit_intercept = true;
  double intercept_scaling = 1.0;
  schema::Value class_weight;
  std::string solver = "lbfgs";
  std::int64_t max_iter = 100;
};

// Minimises C * sum of losses + (1 - r) |coef|^2 / 2 + r |coef|_1, r the share of L1: multinomial for three classes and more, a
// single sigmoid for two, as scikit-learn. Cost: two passes over X an iteration, O(n_samples * n_features * n_classes), and for
// Newton's method O(n_samples * (n_features * n_classes)^2) besides; memory for one copy of X where rows are selected or mapped.
// Converged results agree with scikit-learn's to 1e-6 relative in float64. Errors: kBadData for a single class or no rows. Warns
// through the context when max_iter is reached.
template <class T>
class LogisticRegression final : public Classifier<T> {
 public:
  explicit LogisticRegression(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  void announce(WorkCache& plan, const std::string& content) const override;
  Squares squares() const override { return Squares::kColumns; }
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

  // For LogisticRegressionCV: where the next fit() starts (rows of coefficients, then intercepts), and a line that no
  // fit() found.
  void start_at(std::vector<double> w) { start_ = std::move(w); }
  void set_line(const PresentClasses& present, std::int64_t n_features, std::vector<double> coef,
                std::vector<double> intercept) {
    present_ = present, n_features_ = n_features, coef_ = std::move(coef), intercept_ = std::move(intercept);
  }
  const PresentClasses& present() const { return present_; }
  const std::vector<double>& coef() const { return coef_; }
  const std::vector<double>& intercept() const { return intercept_; }
  std::int64_t n_iter() const { return n_iter_; }

 private:
  // A fit, and what it had to say.
  struct Told {
    LogisticFit fit;
    std::vector<std::string> warnings;
  };
  using ByC = std::map<double, Told>;

  LogisticPenalty penalty(double C, double weight_sum, std::int64_t n_rows) const;
  std::string work_key(const std::string& content) const;
  bool is_shared(const Context& ctx, const Samples<T>& X) const;
  LogisticFit shared_fit(const Context& ctx, const Samples<T>& X, const Target& y) const;
  ByC all_fits(const Context& ctx, const Samples<T>& X, const Target& y, const std::set<double>& Cs) const;
  template <class V, class Visit>
  auto with_targets(const Context& ctx, LogisticData<V> data, const Target& y, Visit&& visit) const;
  template <class V>
  LogisticFit minimize(const Context& ctx, const LogisticData<V>& data, double C) const;
  LogisticFit minimize_sparse(const Context& ctx, const Samples<T>& X, const Target& y) const;
  Matrix<T> sparse_margins(const Context& ctx, const Samples<T>& X) const;
  Matrix<T> margins(const Context& ctx, const Samples<T>& X) const;  // n x present classes

  LogisticRegressionParams params_;
  double C_ = 1, l1_share_ = 0;
  PresentClasses present_;
  std::int64_t n_features_ = 0, n_iter_ = 0;
  std::vector<double> start_;
  std::vector<double> coef_, intercept_;   // one row for two classes, otherwise one for each
};

}  // namespace kedge::engine
