// Hierarchical clusters of points, as AgglomerativeClustering makes them of rows and FeatureAgglomeration of columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/params.h"
#include "engine/estimators/cluster/dendrogram.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct AgglomerativeParams {
  std::optional<std::int64_t> n_clusters = 2;
  std::string metric = "euclidean", linkage = "ward";
  schema::Value compute_full_tree = "auto";
  std::optional<double> distance_threshold;
  bool compute_distances = false;
};

// Adds their documentation to the set of P, an AgglomerativeParams.
template <class P>
ParamSet<P>& add_agglomerative_params(ParamSet<P>& set) {
  return set.add("n_clusters", &P::n_clusters, at_least(1), "Clusters to find; null with a distance_threshold.")
      .add("metric", &P::metric, {"euclidean", "l2", "manhattan", "l1", "cosine"}, "Distance of two points.")
      .ignore("memory", nullptr, {null_form()})
      .ignore("connectivity", nullptr, {null_form()})
      .template any<schema::Value>("compute_full_tree", &P::compute_full_tree, {boolean_form(), string_form({"auto"})},
           "The whole tree is always made; with a distance_threshold this may not be false.")
      .add("linkage", &P::linkage, {"ward", "complete", "average", "single"},
           "Distance of two clusters: the growth of the variance within, or the largest, mean or least distance of their "
           "points.")
      .add("distance_threshold", &P::distance_threshold, at_least(0), "Clusters this far apart are not merged.")
      .add("compute_distances", &P::compute_distances, "Whether distances_ is kept without a distance_threshold.");
}
// Errors: kInvalidValue for pairs that scikit-learn refuses.
void check_agglomerative_params(std::string_view owner, const AgglomerativeParams& params);
Squares squares_of(const AgglomerativeParams& params);
std::vector<std::string> agglomerative_deviations();
// Of n points of `dims` numbers, in double on the host, and what their linkage needs.
std::int64_t agglomeration_bytes(const schema::Step& step, std::int64_t n, std::int64_t dims);

struct Agglomeration {
  Dendrogram tree;
  std::vector<std::int32_t> labels;
  std::int64_t n_clusters = 0;

  // Errors: kBadData for fewer points than clusters, and with metric "cosine" for a point that is 0; kCancelled.
  void fit(const Context& ctx, std::string_view owner, const AgglomerativeParams& params, std::vector<double> points,
           std::int64_t n, std::int64_t dims);
  // n_clusters_, labels_, n_leaves_, n_connected_components_, children_ and, where they are kept, distances_.
  schema::ValueMap attributes(const AgglomerativeParams& params) const;
  static std::vector<std::string> attribute_names();
  void state(StateArchive& archive);
};

}   // namespace kedge::engine
