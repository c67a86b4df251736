// KMeans: rows into n_clusters clusters around means.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/estimators/cluster/center_clusterer.h"

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

// Fits n_init times and keeps the smallest inertia. X is centred first. Cost O(n_samples * n_clusters * n_features) for
// the first iteration, later ones only for the rows whose nearest centre may have changed; memory one copy of X. Labels
// are exact nearest centres, so "lloyd" and "elkan" are one algorithm. Errors: kBadData for fewer rows than clusters.
// Sources: Lloyd, "Least squares quantization in PCM", 1982; the bounds of the later iterations: Hamerly, "Making
// k-means even faster", SDM 2010 (ClusterOps::follow_centers()); the starts: cluster_centers.h.
template <class T>
class KMeans final : public CenterClusterer<T> {
 public:
  explicit KMeans(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;

 private:
  using CenterClusterer<T>::centers_, CenterClusterer<T>::labels_, CenterClusterer<T>::inertia_, CenterClusterer<T>::n_iter_,
      CenterClusterer<T>::n_features_;
  explicit KMeans(const KMeansParams& params);

  KMeansParams params_;
};

// What one run of Lloyd's iterations finds.
template <class T>
struct KMeansRun {
  std::vector<T> centers;
  Array<std::int32_t> labels;   // device
  double inertia = 0;
  std::int64_t n_iter = 0;
};

// One run from `start` (host, row-major) until no label changes, or the squared moves of the centres sum up to at most
// `tol`. Empty weights mean 1. Errors: kCancelled.
template <class T>
KMeansRun<T> k_means_run(const Context& ctx, MatrixView<const T> X, std::span<const double> weights,
                         std::vector<T> start, std::int64_t max_iter, double tol);

// The labels of KMeans(n_clusters, n_init) on these rows (device, less their means), with the draws of `random`,
// which go on from there: where a mixture starts.
template <class T>
std::vector<std::int32_t> k_means_labels(const Context& ctx, MatrixView<const T> X, std::int64_t n_clusters,
                                         LegacyRandom& random, std::int64_t n_init = 1);

}  // namespace kedge::engine
