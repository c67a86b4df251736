// KMeans: rows into n_clusters clusters around means.
#pragma once

#include <string>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct KMeansParams {
  std::int64_t n_clusters = 8;
  schema::Value init = "k-means++";
  schema::Value n_init = "auto";
  std::int64_t max_iter = 300;
  double tol = 1e-4;
  std::optional<std::int64_t> random_state;
  std::string algorithm = "lloyd";
};

// Fits n_init times and keeps the smallest inertia. X is centred first. Cost O(n_samples * n_clusters * n_features) an iteration,
// memory one copy of X. Labels are exact nearest centres, so "lloyd" and "elkan" are one algorithm. Errors: kBadData for fewer
// rows than clusters. Source: Lloyd, "Least squares quantization in PCM", 1982; the starts: cluster_centers.h.
template <class T>
class KMeans final : public Clusterer<T>, public Transformer<T> {
 public:
  explicit KMeans(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;   // distances to the centres
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  KMeansParams params_;
  std::vector<T> centers_;   // row-major
  std::vector<std::int32_t> labels_;
  double inertia_ = 0;
  std::int64_t n_iter_ = 0, n_features_ = 0;
};

}  // namespace kedge::engine
