// VarianceThreshold, SelectKBest and SelectPercentile: columns chosen by a score of each.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/selection/feature_scores.h"

namespace kedge::engine {

// Deviations that selectors by scores have.
inline constexpr const char* kNoMutualInfo =
    "The scores mutual_info_classif and mutual_info_regression, and callables, are not implemented.";
inline constexpr const char* kExactSums =
    "f_classif takes sums of squares about means, so that scores of columns with a large offset are exact where "
    "scikit-learn's are not.";

// Warnings of a selector: it is to keep more columns than there are; it keeps none, for the rate of errors that a
// parameter allows.
void warn_of_many(const Context& ctx, const char* owner, const char* param, std::int64_t k, std::size_t n_cols);
void warn_of_none(const Context& ctx, const char* owner, const char* param, const std::vector<bool>& kept);

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

// What the selectors by scores share: scores of the columns, and the choice by them. O(n_samples * n_features).
// Errors: those of feature_scores().
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
  virtual std::vector<bool> support(const Context& ctx, const FeatureScores& found) const = 0;   // one a column

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
  std::vector<bool> support(const Context& ctx, const FeatureScores& found) const override;

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
  std::vector<bool> support(const Context& ctx, const FeatureScores& found) const override;

 private:
  explicit SelectPercentile(SelectPercentileParams params);
  SelectPercentileParams params_;
};

}  // namespace kedge::engine
