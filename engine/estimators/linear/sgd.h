// SGDClassifier, Perceptron, PassiveAggressiveClassifier, SGDRegressor and PassiveAggressiveRegressor: lines by
// stochastic gradient descent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/sgd_run.h"

namespace kedge::engine {

enum class SgdKind { kGradient, kPerceptron, kPassive };

struct SgdParams {
  std::string loss = "hinge", learning_rate = "optimal";
  std::optional<std::string> penalty = "l2";
  double alpha = 1e-4;
  std::optional<double> l1_ratio = 0.15;
  bool fit_intercept = true;
  std::int64_t max_iter = 1000;
  std::optional<double> tol = 1e-3;
  bool shuffle = true;
  double epsilon = 0.1, eta0 = 0.01, power_t = 0.5, C = 1;
  std::optional<std::int64_t> random_state;
  bool early_stopping = false;
  std::int64_t n_iter_no_change = 5;
  schema::Value average = false, class_weight;
};

// One line a class, each against all others, side by side on the CPU's threads: the rows of one line follow one
// another. The rows are read on the host. Errors: kBadData for one class, without rows or columns, where the
// coefficients leave float64.
template <class T, SgdKind kKind>
class SgdClassifierOf final : public Classifier<T> {
 public:
  explicit SgdClassifierOf(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return kKind != SgdKind::kPassive; }
  bool accepts_sparse() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override;
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> scores(const Context& ctx, const Samples<T>& X) const;   // rows x lines

  SgdParams params_;
  SgdOptions options_;
  PresentClasses present_;
  std::int64_t n_features_ = 0, n_iter_ = 0, n_rows_ = 0;
  std::vector<double> coef_, intercept_;
};

template <class T, SgdKind kKind>
class SgdRegressorOf final : public Regressor<T> {
 public:
  explicit SgdRegressorOf(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return kKind != SgdKind::kPassive; }
  bool accepts_sparse() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  SgdParams params_;
  SgdOptions options_;
  std::int64_t n_iter_ = 0, n_rows_ = 0;
  std::vector<double> coef_;
  double intercept_ = 0;
};

template <class T>
using SGDClassifier = SgdClassifierOf<T, SgdKind::kGradient>;
template <class T>
using Perceptron = SgdClassifierOf<T, SgdKind::kPerceptron>;
template <class T>
using PassiveAggressiveClassifier = SgdClassifierOf<T, SgdKind::kPassive>;
template <class T>
using SGDRegressor = SgdRegressorOf<T, SgdKind::kGradient>;
template <class T>
using PassiveAggressiveRegressor = SgdRegressorOf<T, SgdKind::kPassive>;

}   // namespace kedge::engine
