// IsolationForest: outliers are rows that random cuts separate from the others soon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/contributions.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

struct IsolationForestParams {
  std::int64_t n_estimators = 100;
  schema::Value max_samples = "auto", contamination = "auto", max_features = 1.0;
  bool bootstrap = false;
  std::optional<std::int64_t> random_state;
};

// The trees are scikit-learn's, to the last cut: rows, columns and cuts come from its generators. They are grown on the
// host, from samples; rows are scored on the device. Cost: n_estimators * max_samples * log(max_samples) in fit,
// n_samples * n_estimators * log(max_samples) for scores, which a share of contamination needs in fit as well. Source:
// Liu, Ting and Zhou, "Isolation forest", ICDM 2008.
template <class T>
class IsolationForest final : public OutlierDetector<T>, public Contributor<T> {
 public:
  explicit IsolationForest(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  // To the mean path length, from which a score is made; short paths make outliers.
  Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const override;
  std::int64_t count_samples(const Context& ctx, std::int64_t n) const;
  std::int64_t count_features(std::int64_t d) const;

  IsolationForestParams params_;
  std::int64_t max_samples_ = 0, n_features_ = 0, tree_features_ = 0;
  Forest forest_;
  mutable KeptShap kept_shap_;           // of forest_
  std::vector<std::int64_t> features_;   // n_estimators x tree_features_
};

}   // namespace kedge::engine
