// VarianceThreshold, SelectKBest and SelectPercentile: columns chosen by a score of each.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/selection/feature_scores.h"

namespace kedge::engine {

struct VarianceThresholdParams {
  double threshold = 0;
};

// Keeps the columns whose variance is above the threshold; missing values are left out. With threshold 0 the range of a column
// without missing values counts where it is smaller, so that rounding does not make a constant column vary. O(n_samples *
// n_features). Errors: kBadData if none is left.
template <class T>
class VarianceThreshold final : public Transformer<T> {
 public:
  explicit VarianceThreshold(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_nan() const override { return true; }
  bool accepts_sparse() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {{"variances_", variances_}}; }
  void state(StateArchive& archive) override;

 private:
  VarianceThresholdParams params_;
  std::vector<double> variances_;
};

// What SelectKBest and SelectPercentile share: scores of the columns, and the choice by them. O(n_samples * n_features).
// Errors: kBadData for fewer than 2 classes, or a negative value with chi2.
template <class T>
class ScoreSelector : public Transformer<T> {
 public:
  Squares squares() const override { return Squares::kEachColumn; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  TargetKind target_kind() const override { return score_func_ == "f_regression" ? TargetKind::kValues : TargetKind::kClasses; }
  bool accepts_sparse() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {{"scores_", scores_.scores}, {"pvalues_", scores_.p_values}}; }
  void state(StateArchive& archive) override;

 protected:
  ScoreSelector(const char* name, std::string score_func) : name_(name), score_func_(std::move(score_func)) {}
  virtual std::vector<bool> support(const Context& ctx, const std::vector<double>& scores) const = 0;   // scores: NaN made least

 private:
  const char* name_;
  std::string score_func_;
  FeatureScores scores_;
  std::vector<std::int32_t> kept_;
};

struct SelectKBestParams {
  std::string score_func = "f_classif";
  schema::Value k = 10;
};

template <class T>
class SelectKBest final : public ScoreSelector<T> {
 public:
  explicit SelectKBest(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 protected:
  std::vector<bool> support(const Context& ctx, const std::vector<double>& scores) const override;

 private:
  explicit SelectKBest(SelectKBestParams params);
  SelectKBestParams params_;
};

struct SelectPercentileParams {
  std::string score_func = "f_classif";
  double percentile = 10;
};

template <class T>
class SelectPercentile final : public ScoreSelector<T> {
 public:
  explicit SelectPercentile(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 protected:
  std::vector<bool> support(const Context& ctx, const std::vector<double>& scores) const override;

 private:
  explicit SelectPercentile(SelectPercentileParams params);
  SelectPercentileParams params_;
};

}  // namespace kedge::engine
