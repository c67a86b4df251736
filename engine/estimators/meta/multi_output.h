// MultiOutputClassifier and MultiOutputRegressor: a copy of one predictor for each of several target columns.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct MultiOutputParams {
  schema::Value estimator;
};

// What both share. Fits the copies one after the other, each to one column. Cost: that of the estimator times the
// columns. Errors: those of the estimator, with the name of the column in front.
template <class T>
class MultiOutputPredictor : public MultiOutput<T> {
 public:
  using Kind = typename NestedPredictor<T>::Kind;

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return like_.takes_weights(); }
  TargetKind target_kind() const override { return like_.target_kind(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<std::int32_t> class_counts() const override;
  std::vector<std::vector<double>> predict(const Context& ctx, const Samples<T>& X) const override;
  bool has_proba() const override { return like_.has_proba(); }
  std::vector<std::vector<double>> predict_proba(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  MultiOutputPredictor(const char* name, const schema::Value& estimator, Kind kind)
      : name_(name), like_(estimator, "params.estimator", kind) {}

 private:
  struct Member {
    std::vector<std::string> classes;   // of its column
    NestedPredictor<T> predictor;
  };

  const char* name_;
  NestedPredictor<T> like_;   // not fitted
  std::vector<Member> members_;
};

template <class T>
class MultiOutputClassifier final : public MultiOutputPredictor<T> {
 public:
  explicit MultiOutputClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class MultiOutputRegressor final : public MultiOutputPredictor<T> {
 public:
  explicit MultiOutputRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
