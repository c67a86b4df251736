// VotingClassifier and VotingRegressor: several predictors that answer together.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct VotingClassifierParams {
  schema::Value estimators = schema::ValueList{};
  std::string voting = "hard";
  schema::Value weights;
  bool flatten_transform = true;
};

// "hard": the class with the most (weighted) votes, the first of equals; "soft": that with the largest (weighted) mean
// probability. Cost: that of its estimators. Errors: kBadData where there are none, and those of the estimators with
// their name in front.
template <class T>
class VotingClassifier final : public Classifier<T> {
 public:
  explicit VotingClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return static_cast<std::int32_t>(classes_.size()); }
  bool has_proba() const override { return params_.voting == "soft"; }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> scores(const Context& ctx,
                             const Samples<T>& X) const;   // weighted sums of votes or probabilities

  VotingClassifierParams params_;
  std::vector<NamedPredictor<T>> predictors_;
  std::vector<double> weights_;   // of the predictors
  std::vector<std::string> classes_;
};

struct VotingRegressorParams {
  schema::Value estimators = schema::ValueList{};
  schema::Value weights;
};

// The (weighted) mean of what its estimators predict. Errors: as VotingClassifier.
template <class T>
class VotingRegressor final : public Regressor<T> {
 public:
  explicit VotingRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  VotingRegressorParams params_;
  std::vector<NamedPredictor<T>> predictors_;
  std::vector<double> weights_;
};

}   // namespace kedge::engine
