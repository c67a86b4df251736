// SequentialFeatureSelector and RFECV: columns chosen by the scores of folds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/elimination.h"

namespace kedge::engine {

struct SequentialParams {
  schema::Value estimator;
  schema::Value n_features_to_select = std::string("auto");
  std::optional<double> tol;
  std::string direction = "forward";
  std::optional<std::string> scoring;
  std::int64_t cv = 5;
};

// Takes in, or leaves out, one column at a time: that whose choice scores best in folds. Cost: cv fits for each column
// that is looked at in each round. Errors: kBadData for fewer than 2 columns, or as many to select; the estimator's.
template <class T>
class SequentialFeatureSelector final : public Transformer<T> {
 public:
  explicit SequentialFeatureSelector(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  TargetKind target_kind() const override { return predictor_.target_kind(); }
  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t wanted(std::int64_t n_features) const;

  SequentialParams params_;
  NestedPredictor<T> predictor_;   // not fitted
  std::vector<std::int32_t> kept_;
  std::int64_t n_features_ = 0;
};

struct RfecvParams {
  schema::Value estimator;
  schema::Value step = std::int64_t{1};
  std::int64_t min_features_to_select = 1;
  std::optional<std::int64_t> cv;
  std::optional<std::string> scoring;
  std::string importance_getter = "auto";
};

// Recursive elimination in each fold says how many columns score best; elimination on all rows then says which. Cost:
// cv + 1 eliminations. Errors: as RFE.
template <class T>
class RFECV final : public Transformer<T> {
 public:
  explicit RFECV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  TargetKind target_kind() const override { return predictor_.target_kind(); }
  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  RfecvParams params_;
  NestedPredictor<T> predictor_;
  Eliminated done_;
  std::vector<std::int64_t> sizes_;   // columns of each round, ascending
  std::vector<double> scores_;        // folds x rounds
};

}   // namespace kedge::engine
