// OPTICS: rows in an order in which clusters of any density are valleys of a curve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/cluster/optics_clusters.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/neighbors/neighbor_model.h"

namespace kedge::engine {

struct OpticsParams : NeighborParams {
  schema::Value min_samples = 5, min_cluster_size;
  std::optional<double> max_eps, eps;
  std::string cluster_method = "xi";
  double xi = 0.05;
  bool predecessor_correction = true;
};

// Errors: kBadData for fewer rows than min_samples. Cost without max_eps: the distances of all pairs, none of which is
// stored; with it the pairs within it, which are listed up to 32 million of them. Source: optics_order.h.
template <class T>
class OPTICS final : public Clusterer<T> {
 public:
  explicit OPTICS(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> core_distances(const Context& ctx, const NeighborModel<T>& model, const Samples<T>& X,
                                     const OpticsRows& points, std::int64_t min_samples) const;
  OpticsLists lists(const Context& ctx, const NeighborModel<T>& model, const Samples<T>& X) const;
  void find_clusters(std::int64_t min_samples, std::int64_t n);

  OpticsParams params_;
  OpticsOrder found_;
  std::vector<XiCluster> clusters_;
  std::vector<std::int32_t> labels_;
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
