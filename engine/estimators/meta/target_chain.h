// ClassifierChain and RegressorChain: a copy of one predictor for each of several target columns, which reads the
// targets before its own, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"
#include "engine/estimators/target_count.h"

namespace kedge::engine {

struct ChainParams {
  schema::Value estimator, order;
  std::optional<std::int64_t> cv;
  schema::Value chain_method{"predict"};   // of the classifier
  std::optional<std::int64_t> random_state;
};

// What both share. The links are fitted in `order`, each to one target column. A link reads the features and, behind
// them, a column for each link before it: the true targets, or with cv what copies that were fitted on other folds
// predict. Where rows are predicted, it is what the links before predict. A class is passed on as the number that it
// is, or as its code where a class of its column is no number. Folds are fitted without weights, as in scikit-learn.
// Cost: that of the estimator times the columns, with cv times cv + 1; each link copies the table.
// Source: Read, Pfahringer, Holmes, Frank, "Classifier Chains for Multi-label Classification", 2009.
// Errors: those of the estimator, with the name of the column in front; kBadData for an order of another number of
// targets, for fewer rows than folds, for another number of classes than two where a link passes on probabilities or
// decisions, and where what it passes on is not finite.
template <class T>
class TargetChain : public MultiOutput<T>, public TargetCount {
 public:
  using Kind = typename NestedPredictor<T>::Kind;

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return like_.takes_weights(); }
  TargetKind target_kind() const override { return like_.target_kind(); }
  std::optional<std::int64_t> n_targets() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<std::int32_t> class_counts() const override;
  std::vector<std::vector<double>> predict(const Context& ctx, const Samples<T>& X) const override;
  bool has_proba() const override { return like_.has_proba(); }
  std::vector<std::vector<double>> predict_proba(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  TargetChain(const char* name, ChainParams params, const char* otherwise, Kind kind);

 private:
  enum class Answer { kPredict, kProba, kDecision };
  using Columns = std::vector<std::vector<double>>;
  struct Link {
    std::string target;                 // the name of its column
    std::vector<std::string> classes;   // of its column
    NestedPredictor<T> predictor;
  };

  Answer passed_answer() const;   // what chain_method is made of
  std::vector<std::int32_t> order_of(const Context& ctx, std::int64_t n) const;
  void check_classes(const Target& y) const;
  std::string owner_of(const Link& link) const;
  Samples<T> extended(const Context& ctx, const Samples<T>& X, const Columns& before) const;
  Target target_of(const Link& link, const TargetOutput& output, std::vector<double> weights) const;
  std::vector<double> true_values(const Link& link, const TargetOutput& output) const;
  std::vector<double> asked(const Context& ctx, const Link& link, const NestedPredictor<T>& predictor, Answer answer,
                            const Samples<T>& X) const;
  std::vector<double> passed_on(const Link& link, const std::vector<double>& answers) const;
  std::vector<double> passed_by_folds(const Context& ctx, const Link& link, const Samples<T>& X, const Target& y) const;
  std::vector<double> checked(const Link& link, std::vector<double> passed) const;
  Columns answers(const Context& ctx, const Samples<T>& X, Answer wanted) const;

  const char* name_;
  ChainParams params_;
  NestedPredictor<T> like_;   // not fitted
  std::string chain_method_;
  std::vector<Link> links_;           // in the order of the chain
  std::vector<std::int32_t> order_;   // of each link: the position of its target
};

template <class T>
class ClassifierChain final : public TargetChain<T> {
 public:
  explicit ClassifierChain(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class RegressorChain final : public TargetChain<T> {
 public:
  explicit RegressorChain(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
