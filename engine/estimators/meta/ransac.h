// RANSACRegressor: the line that most rows agree with, of lines through few random rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct RansacParams {
  schema::Value estimator;
  schema::Value min_samples;
  std::optional<double> residual_threshold;
  schema::Value max_trials = std::int64_t{100};
  schema::Value max_skips = "inf";
  schema::Value stop_n_inliers = "inf";
  schema::Value stop_score = "inf";
  double stop_probability = 0.99;
  std::string loss = "absolute_error";
  std::optional<std::int64_t> random_state;
};

// scikit-learn's subsets for the same seed. Trials with linear regression are judged several together, in one pass over
// X on the device; those of other estimators one by one. Ranks judge some trials each, a few beyond the last one.
// Errors: kBadData where no trial has an inlier, or for more min_samples than rows. Source: Fischler and Bolles,
// "Random sample consensus", CACM 24(6), 1981.
template <class T>
class RANSACRegressor final : public Regressor<T> {
 public:
  explicit RANSACRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return !is_line_; }
  bool takes_weights() const override { return predictor_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  class Search;
  struct Progress;
  using Subsets = std::vector<std::vector<std::int32_t>>;
  struct Limits {
    double n_rows, wanted, max_skips;   // wanted: rows of a subset
  };
  template <class Score>
  bool is_best(double n_inliers, const Score& score, const Limits& limits, Progress& so_far);
  void judge_alone(const Subsets& subsets, Search& search, const Limits& limits, Progress& so_far);
  void judge_on_ranks(const Context& ctx, const std::vector<Subsets>& groups, Search& search, const Limits& limits,
                      Progress& so_far);

  RansacParams params_;
  NestedPredictor<T> predictor_;
  bool is_line_ = false;   // of LinearRegression, whose answers are coef_ and intercept_
  std::vector<double> inliers_;
  std::int64_t n_trials_ = 0, n_skips_ = 0;
};

}   // namespace kedge::engine
