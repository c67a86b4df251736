// OneVsRestClassifier and OneVsOneClassifier: a classifier of two classes for each class, or for each pair.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct MulticlassParams {
  schema::Value estimator;
};

// Fits n_classes classifiers, each of one class against all others; of two classes a single one. Errors: those of the
// estimator. Classes that the fitted rows lack are never predicted.
template <class T>
class OneVsRestClassifier final : public Classifier<T> {
 public:
  explicit OneVsRestClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return like_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return static_cast<std::int32_t>(classes_.size()); }
  bool has_proba() const override { return like_.has_proba(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return like_.has_decision(); }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Member {
    std::int32_t code = 0;   // the class that it tells from the rest
    NestedPredictor<T> predictor;
  };
  // rows x n_classes: of the class against the rest, the decision or the probability; `absent` for classes without
  // rows.
  std::vector<double> columns(const Context& ctx, const Samples<T>& X, bool wants_proba, double absent) const;

  schema::Value estimator_;
  NestedPredictor<T> like_;   // not fitted
  std::vector<Member> members_;
  std::int32_t first_ = 0;   // of one or two classes the first: it has no classifier of its own
  std::vector<std::string> classes_;
};

// Fits n_classes (n_classes - 1) / 2 classifiers, each on the rows of two classes; the class with the most votes wins,
// the sum of confidences decides between equals. Cost and errors: those of the estimator.
template <class T>
class OneVsOneClassifier final : public Classifier<T> {
 public:
  explicit OneVsOneClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return like_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return static_cast<std::int32_t>(classes_.size()); }
  bool has_proba() const override { return false; }
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Member {
    std::int32_t first = 0, second = 0;   // codes of its classes
    NestedPredictor<T> predictor;
  };
  void fit_pair(const Context& ctx, const Samples<T>& X, const Target& y, Member& member) const;
  std::vector<double> votes(const Context& ctx, const Samples<T>& X) const;   // rows x n_classes

  schema::Value estimator_;
  NestedPredictor<T> like_;
  std::vector<Member> members_;
  std::vector<std::int32_t> present_;
  std::vector<std::string> classes_;
};

}   // namespace kedge::engine
