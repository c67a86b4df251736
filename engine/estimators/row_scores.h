// What an estimator without classes says of rows beside labels: shares of components, densities, how usual a row is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/estimators/estimator.h"

namespace kedge::engine {

inline constexpr std::string_view kScoreSamples = "score_samples", kDecisionFunction = "decision_function",
                                  kPredictProba = "predict_proba";

// Mixtures, densities and outlier detectors are RowScorers.
template <class T>
class RowScorer : public virtual Estimator<T> {
 public:
  // The names of what row_scores() gives, known before fit: of kPredictProba, kDecisionFunction and kScoreSamples.
  virtual std::vector<std::string> row_outputs() const = 0;
  // Device: X.n_rows() x components for kPredictProba, else X.n_rows() x 1. `output` is one of row_outputs().
  virtual Matrix<double> row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const = 0;
};

// Tells usual rows from outliers by a score, which is greater the more usual a row is, and a threshold.
template <class T>
class OutlierDetector : public RowScorer<T> {
 public:
  virtual bool can_predict() const { return true; }   // rows that it was not fitted with
  // Host: 1 for a usual row, whose decision function is at least 0, and -1 for an outlier. Called only if
  // can_predict().
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const;
  std::vector<std::string> row_outputs() const override;
  Matrix<double> row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const override;

 protected:
  virtual Matrix<double> scores(const Context& ctx, const Samples<T>& X) const = 0;   // X.n_rows() x 1
  double offset_ = 0;   // the score from which on a row is usual
};

// The quantile of scores (n x 1, device) below which a share of them lies, with numpy's interpolation.
double score_quantile(const Context& ctx, MatrixView<const double> scores, double share);

}   // namespace kedge::engine
