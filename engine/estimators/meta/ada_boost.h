// AdaBoostClassifier and AdaBoostRegressor: copies of a predictor, each fitted with more weight on what those before it
// got wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct AdaBoostParams {
  schema::Value estimator;
  std::int64_t n_estimators = 50;
  double learning_rate = 1;
  std::string loss = "linear";   // of the regressor
  std::optional<std::int64_t> random_state;
};

// What both have in common: the copies, their weights, and how they are stored.
template <class T>
class BoostedCopies {
 public:
  using Kind = typename NestedPredictor<T>::Kind;
  struct Step {   // what one copy leads to
    double weight = 1, error = 0;
    bool is_kept = true;   // otherwise boosting ends without the copy
    bool is_last = false;
  };

  BoostedCopies(const char* owner, AdaBoostParams params, Kind kind, const char* tree, std::int64_t depth);

  const AdaBoostParams& params() const { return params_; }
  std::vector<NestedPredictor<T>>& copies() { return copies_; }
  const std::vector<NestedPredictor<T>>& copies() const { return copies_; }
  const std::vector<double>& weights() const { return weights_; }   // n_estimators of them
  // Calls boost(copy, weights of the rows, number of the copy, random) for one copy after the other; it fits the copy
  // and changes the weights. Errors: kBadData for weights of sum 0.
  template <class Boost>
  void run(const Context& ctx, const Target& y, std::int64_t n_rows, const Boost& boost);
  schema::ValueMap attributes() const;
  void state(StateArchive& archive);

 private:
  const char* owner_;
  AdaBoostParams params_;
  Kind kind_;
  schema::Value estimator_;
  std::vector<NestedPredictor<T>> copies_;
  std::vector<double> weights_, errors_;
};

// Discrete SAMME. Source: Zhu, Zou, Rosset and Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2, 2009.
// Errors: kInvalidValue for an estimator without sample weights; kBadData for one that is worse than chance, and its
// own.
template <class T>
class AdaBoostClassifier final : public Classifier<T> {
 public:
  explicit AdaBoostClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Matrix<double> scores(const Context& ctx, const Samples<T>& X, bool for_shares) const;   // rows x present classes

  BoostedCopies<T> boosted_;
  PresentClasses present_;
};

// AdaBoost.R2: each copy is fitted on rows drawn by their weight, the answer is the weighted median. Source: Drucker,
// "Improving regressors using boosting techniques", ICML 1997.
template <class T>
class AdaBoostRegressor final : public Regressor<T> {
 public:
  explicit AdaBoostRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return boosted_.attributes(); }
  void state(StateArchive& archive) override { boosted_.state(archive); }

 private:
  BoostedCopies<T> boosted_;
};

}   // namespace kedge::engine
