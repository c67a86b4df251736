// DummyClassifier and DummyRegressor: predictions that do not look at X, to compare others with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct DummyClassifierParams {
  std::string strategy = "prior";
  std::optional<std::int64_t> random_state;
  schema::Value constant;
};

// Errors: kBadData without rows, or for a constant that is no class of the rows; kInvalidValue for strategy constant without a
// constant.
template <class T>
class DummyClassifier final : public Classifier<T> {
 public:
  explicit DummyClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::size_t drawn(std::int64_t row) const;   // position of the class drawn for a row

  DummyClassifierParams params_;
  PresentClasses present_;
  std::vector<double> prior_;   // by position
  std::size_t constant_ = 0;    // position
  std::uint64_t seed_ = 0;
};

struct DummyRegressorParams {
  std::string strategy = "mean";
  schema::Value constant;
  std::optional<double> quantile;
};

// Errors: kBadData without rows or for weights that sum to 0; kInvalidValue for a strategy whose constant or quantile is missing.
template <class T>
class DummyRegressor final : public Regressor<T> {
 public:
  explicit DummyRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  DummyRegressorParams params_;
  double constant_ = 0;
};

}   // namespace kedge::engine
