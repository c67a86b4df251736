// UMAP: rows as points of few dimensions that keep their neighbourhoods; new rows find their place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/manifold/umap_layout.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/neighbors/neighbor_model.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct UmapParams {
  std::int64_t n_neighbors = 15, n_components = 2, negative_sample_rate = 5, transform_seed = 42;
  std::string metric = "euclidean";
  std::optional<std::int64_t> n_epochs, random_state;
  std::optional<double> a, b;
  double learning_rate = 1, min_dist = 0.1, spread = 1, set_op_mix_ratio = 1, local_connectivity = 1,
         repulsion_strength = 1;
  schema::Value init = "spectral";
};

// A fitted row keeps its place in transform(); other rows each find theirs alone, whatever rows come with them. The
// same bits for any number of threads. Source: McInnes, Healy, Melville, "UMAP: uniform manifold approximation and
// projection for dimension reduction", arXiv 1802.03426; umap_layout.h.
template <class T>
class UMAP final : public Transformer<T> {
 public:
  explicit UMAP(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  NeighborLists lists(const Context& ctx, const Samples<T>& X) const;
  std::vector<double> start(const Context& ctx, const Samples<T>& X, const Affinities& graph, std::uint64_t seed) const;
  Layout layout() const;
  void warn_of_flight(const Context& ctx, double before, double after, std::int64_t epochs) const;

  UmapParams params_;
  NeighborModel<T> model_;
  std::vector<float> embedding_;   // a row of n_components each
  std::int64_t n_neighbors_ = 0;   // at most the rows less 1
  NearnessCurve curve_{1, 1};
};

}   // namespace kedge::engine
