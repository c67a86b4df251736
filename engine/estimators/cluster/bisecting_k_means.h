// BisectingKMeans: one cluster is divided in two, again and again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/estimators/cluster/center_clusterer.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct BisectingKMeansParams {
  std::int64_t n_clusters = 8, n_init = 1, max_iter = 300;
  std::string init = "random", algorithm = "lloyd", bisecting_strategy = "biggest_inertia";
  double tol = 1e-4;
  std::optional<std::int64_t> random_state;
};

// The cluster with the largest sum of squares, or with most rows, is divided by k-means with two centres until there
// are n_clusters. A new row goes down the tree of these divisions, each time to the nearer of two centres. Clusters are
// numbered as the leaves of the tree, from left to right. Source: Steinbach, Karypis, Kumar, "A comparison of document
// clustering techniques", KDD workshop on text mining 2000.
template <class T>
class BisectingKMeans final : public CenterClusterer<T> {
 public:
  explicit BisectingKMeans(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  using CenterClusterer<T>::centers_, CenterClusterer<T>::labels_, CenterClusterer<T>::inertia_,
      CenterClusterer<T>::n_features_;
  struct Leaf {   // rows of a cluster that may be divided
    std::int32_t node;
    double score;
    std::vector<std::int32_t> rows;
  };
  explicit BisectingKMeans(const BisectingKMeansParams& params);
  std::vector<Leaf> divide(const Context& ctx, MatrixView<const T> X, const std::vector<double>& weights,
                           LegacyRandom& random, Leaf& leaf);
  void finish(const Context& ctx, MatrixView<const T> X, const std::vector<double>& weights,
              const std::vector<double>& mean, const std::vector<Leaf>& leaves);

  BisectingKMeansParams params_;
  std::vector<std::int32_t> children_;   // two of each node, or -1 and its cluster; node 0 is the root
  std::vector<T> node_centers_;          // of each node
};

}   // namespace kedge::engine
