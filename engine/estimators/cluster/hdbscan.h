// HDBSCAN: clusters that are dense over the widest range of densities, and noise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/cluster/condensed_tree.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/neighbors/neighbor_model.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct HdbscanParams : NeighborParams {
  std::int64_t min_cluster_size = 5;
  std::optional<std::int64_t> min_samples, max_cluster_size;
  double cluster_selection_epsilon = 0, alpha = 1;
  std::string cluster_selection_method = "eom";
  bool allow_single_cluster = false;
  std::optional<std::string> store_centers;
  HdbscanParams() { metric = "euclidean", p.reset(); }
};

// The distance of two rows is at least that from either to its min_samples-th neighbour; along the minimum spanning
// tree of these distances, clusters part. Source: see condensed_tree.h; McInnes, Healy, "Accelerated hierarchical
// density based clustering", ICDMW 2017.
template <class T>
class HDBSCAN final : public Clusterer<T> {
 public:
  explicit HDBSCAN(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return chosen_.labels; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> reaches(const Context& ctx, const Samples<T>& X, const std::vector<double>& rows,
                              const Distance& distance) const;
  void store_centers(const std::vector<double>& rows, const Distance& distance, bool is_cosine);

  HdbscanParams params_;
  ChosenClusters chosen_;
  std::vector<double> centroids_, medoids_;   // of each cluster, where they are stored
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
