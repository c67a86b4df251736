// NearestCentroid: a row belongs to the class whose centre is nearest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct NearestCentroidParams {
  std::string metric = "euclidean";
  std::optional<double> shrink_threshold;
  schema::Value priors = "uniform";
};

// Centres are means, or medians with metric "manhattan"; shrunken ones leave out columns that do not tell classes
// apart. With uniform priors the nearest centre decides, otherwise the discriminant scores of columns of unit variance.
// Cost: n_samples * n_features. Errors: kBadData for one class, and where all columns are constant. Source: Tibshirani,
// Hastie, Narasimhan and Chu, "Diagnosis of multiple cancer types by shrunken centroids of gene expression", PNAS 99,
// 2002.
template <class T>
class NearestCentroid final : public Classifier<T> {
 public:
  explicit NearestCentroid(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override { return is_euclidean(); }
  bool has_decision() const override { return is_euclidean(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  bool is_euclidean() const { return params_.metric == "euclidean"; }
  void set_priors(const Context& ctx, const Target& y);
  void set_centres(const Context& ctx, const Samples<T>& X, const Target& y);
  void shrink(const std::vector<double>& mean, double n);
  // Minus the distances to the centres: as they are, or squared on scaled columns with the logarithms of the priors.
  Matrix<T> scores(const Context& ctx, const Samples<T>& X, bool is_scaled) const;

  NearestCentroidParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0;
  std::vector<double> class_prior_, centroids_, within_, deviations_;   // k, k x d, d, k x d
};

}   // namespace kedge::engine
