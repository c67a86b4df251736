// SpectralClustering: clusters of the places that the eigenvectors of a graph of the rows give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/manifold/affinity_graph.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct SpectralClusteringParams {
  std::int64_t n_clusters = 8, n_init = 10, n_neighbors = 10;
  std::optional<std::int64_t> n_components, random_state;
  std::string affinity = "rbf", assign_labels = "kmeans";
  double gamma = 1, degree = 3, coef0 = 1;
};

// The draws are scikit-learn's. The same labels for any number of threads. Source: affinity_graph.h,
// label_assignment.h.
template <class T>
class SpectralClustering final : public Clusterer<T> {
 public:
  explicit SpectralClustering(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  AffinityGraph graph(const Context& ctx, const Samples<T>& X) const;

  SpectralClusteringParams params_;
  std::vector<std::int32_t> labels_;
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
