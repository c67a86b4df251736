// StackingClassifier and StackingRegressor: a last estimator that learns from what others predict.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct StackingParams {
  schema::Value estimators = schema::ValueList{};
  schema::Value final_estimator;
  schema::Value cv;
  std::string stack_method = "auto";   // of the classifier
  bool passthrough = false;
};

// What both share: the estimators, fitted on all rows, and a final one, fitted on what the others predict of rows that
// they were not fitted on, fold by fold (StratifiedKFold or KFold without shuffling). Source: Wolpert, "Stacked
// generalization", 1992.
template <class T>
class Stack {
 public:
  using Kind = typename NestedPredictor<T>::Kind;
  Stack(const char* owner, StackingParams params, Kind kind, const char* default_final);

  bool takes_weights() const;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y);
  Samples<T> answers(const Context& ctx, const Samples<T>& X) const;   // what the final estimator reads
  const NestedPredictor<T>& last() const { return final_; }
  const std::string& last_owner() const { return final_owner_; }
  std::int32_t n_classes() const { return n_classes_; }
  schema::ValueMap attributes() const;
  void state(StateArchive& archive);

 private:
  enum class Method { kProba, kDecision, kPredict };
  struct Fold;
  Method method_of(const NestedPredictor<T>& predictor) const;
  std::int64_t width_of(const NestedPredictor<T>& predictor) const;   // of its answers
  std::vector<std::int64_t> first_columns() const;   // of the answers of each predictor; then how many there are
  std::vector<double> answers_of(const Context& ctx, const NamedPredictor<T>& one, const Samples<T>& X) const;
  template <class IsAsked>
  void place(const std::vector<double>& answers, std::size_t predictor, const std::vector<std::int64_t>& first,
             std::vector<double>& table, IsAsked&& is_asked) const;
  PlannedFit planned(std::size_t predictor, const Samples<T>& X, std::int64_t n_folds) const;
  std::vector<double> fit_predictors(const Context& ctx, const Samples<T>& X, const Target& y,
                                     const std::vector<std::int32_t>& fold_of, std::int64_t n_folds);
  Samples<T> joined(const Context& ctx, const std::vector<double>& table, const Samples<T>& X) const;

  const char* owner_;
  StackingParams params_;
  Kind kind_;
  std::vector<NamedPredictor<T>> predictors_;
  NestedPredictor<T> final_;
  std::string final_owner_;
  std::int32_t n_classes_ = 0;
};

// Errors: kBadData where there are no estimators, for fewer rows than folds, and those of the estimators.
template <class T>
class StackingClassifier final : public Classifier<T> {
 public:
  explicit StackingClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return stack_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return stack_.n_classes(); }
  bool has_proba() const override { return stack_.last().has_proba(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return stack_.last().has_decision(); }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Stack<T> stack_;
  std::vector<std::string> classes_;
};

template <class T>
class StackingRegressor final : public Regressor<T> {
 public:
  explicit StackingRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return stack_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override { stack_.fit(ctx, X, y); }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return stack_.attributes(); }
  void state(StateArchive& archive) override { stack_.state(archive); }

 private:
  Stack<T> stack_;
};

}   // namespace kedge::engine
