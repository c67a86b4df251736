// NearestNeighbors, KNeighborsRegressor, RadiusNeighborsClassifier and RadiusNeighborsRegressor.
#pragma once

#include <string>

#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/neighbors/neighbor_model.h"

namespace kedge::engine {

struct NearestNeighborsParams : NeighborParams {
  std::int64_t n_neighbors = 5;
  double radius = 1;
};

// Unsupervised: keeps and prepares the rows; kneighbors() and radius_neighbors() search them. Source of each search: neighbor_model.h.
template <class T>
class NearestNeighbors final : public Estimator<T> {
 public:
  explicit NearestNeighbors(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override { return model_.attributes(); }
  void state(StateArchive& archive) override;

  struct Neighbors {   // host; row by row, n_neighbors a row
    std::vector<double> distances;
    std::vector<std::int32_t> indices;
  };
  Neighbors kneighbors(const Context& ctx, const Samples<T>& X) const;
  struct Neighborhoods {   // host; those of row i are at offsets[i] .. offsets[i + 1] - 1
    std::vector<std::int64_t> offsets;
    std::vector<double> distances;
    std::vector<std::int32_t> indices;
  };
  Neighborhoods radius_neighbors(const Context& ctx, const Samples<T>& X) const;

 private:
  NearestNeighborsParams params_;
  NeighborModel<T> model_;
};

struct KNeighborsRegressorParams : NeighborParams {
  std::int64_t n_neighbors = 5;
  std::optional<std::string> weights = "uniform";
};

// The weighted mean of the targets of the nearest training rows, in double.
template <class T>
class KNeighborsRegressor final : public Regressor<T> {
 public:
  explicit KNeighborsRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void announce(WorkCache& plan, const std::string& content) const override {
    NeighborModel<T>::announce(plan, content, params_, params_.n_neighbors);
  }
  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return model_.attributes(); }
  void state(StateArchive& archive) override;

 private:
  KNeighborsRegressorParams params_;
  std::vector<double> values_;
  NeighborModel<T> model_;
};

struct RadiusNeighborsParams : NeighborParams {
  double radius = 1;
  std::optional<std::string> weights = "uniform";
  schema::Value outlier_label;   // of the classifier
};

// The vote of the training rows within `radius`. Errors: kBadData for a row without neighbours where outlier_label is null.
template <class T>
class RadiusNeighborsClassifier final : public Classifier<T> {
 public:
  explicit RadiusNeighborsClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  RadiusNeighborsParams params_;
  PresentClasses present_;
  std::vector<std::int32_t> codes_;
  std::optional<std::int32_t> outlier_;   // code of its class
  NeighborModel<T> model_;
};

// The weighted mean of the targets within `radius`, in double; NaN and a warning for rows without neighbours.
template <class T>
class RadiusNeighborsRegressor final : public Regressor<T> {
 public:
  explicit RadiusNeighborsRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return model_.attributes(); }
  void state(StateArchive& archive) override;

 private:
  RadiusNeighborsParams params_;
  std::vector<double> values_;
  NeighborModel<T> model_;
};

}  // namespace kedge::engine
