// BaggingClassifier and BaggingRegressor: copies of a predictor, each fitted on rows and columns drawn at random.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct BaggingParams {
  schema::Value estimator;
  std::int64_t n_estimators = 10;
  schema::Value max_samples;
  schema::Value max_features = 1.0;
  bool bootstrap = true, bootstrap_features = false, oob_score = false;
  std::optional<std::int64_t> random_state;
};

// What both share. Rows and columns are drawn with scikit-learn's random numbers. An estimator that takes weights is
// fitted on all rows, each weighing as often as it was drawn; another, and a list of steps, on the rows that were
// drawn. Source: Breiman, "Bagging predictors", 1996.
template <class T>
class Bag {
 public:
  using Kind = typename NestedPredictor<T>::Kind;
  Bag(const char* owner, BaggingParams params, Kind kind, const char* default_estimator);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y);
  // Sums over the estimators, row after row: probabilities (or votes) of each class, or values.
  std::vector<double> sums(const Context& ctx, const Samples<T>& X) const;
  std::int64_t n_estimators() const { return params_.n_estimators; }
  std::int32_t n_classes() const { return n_classes_; }
  schema::ValueMap attributes() const;
  void state(StateArchive& archive);

 private:
  struct Member {
    NestedPredictor<T> predictor;
    std::vector<std::int32_t> columns = {};   // of X; empty: all
  };
  // What a member answers to the rows that it was not fitted on.
  struct OutOfBag {
    std::vector<std::int32_t> rows = {};
    std::vector<double> answers = {};
  };
  struct Drawn {
    std::vector<std::int64_t> columns, rows;
  };
  PlannedFit planned(const Member& member, const Samples<T>& X) const;
  Drawn draw(std::uint32_t seed, std::int64_t n_rows, std::int64_t n_cols) const;
  NestedPredictor<T> seeded(std::uint32_t seed) const;
  Samples<T> columns_of(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns) const;
  void fit_member(const Context& ctx, Member& member, const Samples<T>& X, const Target& y, const Drawn& drawn) const;
  OutOfBag out_of_bag(const Context& ctx, const Member& member, const Samples<T>& X, const Drawn& drawn) const;
  std::vector<double> answers(const Context& ctx, const Member& member, const Samples<T>& X) const;
  void set_oob(const Context& ctx, const Target& y, const std::vector<double>& sums,
               const std::vector<std::int64_t>& counts);
  std::size_t width() const { return n_classes_ > 0 ? static_cast<std::size_t>(n_classes_) : 1; }

  const char* owner_;
  BaggingParams params_;
  Kind kind_;
  schema::Value estimator_;
  std::vector<Member> members_;
  std::int32_t n_classes_ = 0;
  double oob_score_ = 0;
  std::vector<double> oob_answers_;
};

// Errors: kBadData where more rows or columns are to be drawn without replacement than there are, and those of the
// estimator.
template <class T>
class BaggingClassifier final : public Classifier<T> {
 public:
  explicit BaggingClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return bag_.n_classes(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Bag<T> bag_;
  std::vector<std::string> classes_;
};

template <class T>
class BaggingRegressor final : public Regressor<T> {
 public:
  explicit BaggingRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override { bag_.fit(ctx, X, y); }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return bag_.attributes(); }
  void state(StateArchive& archive) override { bag_.state(archive); }

 private:
  Bag<T> bag_;
};

}   // namespace kedge::engine
