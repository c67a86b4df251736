// The tree of merges, cut into clusters.
#include "engine/estimators/cluster/agglomeration.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/linkage.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

Linkage linkage_of(const std::string& name) {
  if (name == "complete") return Linkage::kComplete;
  if (name == "average") return Linkage::kAverage;
  return name == "single" ? Linkage::kSingle : Linkage::kWard;
}

bool is_manhattan(const AgglomerativeParams& params) { return params.metric == "manhattan" || params.metric == "l1"; }

}   // namespace

void check_agglomerative_params(std::string_view owner, const AgglomerativeParams& params) {
  if (params.n_clusters && params.distance_threshold)
    refuse_param(owner, "distance_threshold", *params.distance_threshold, "must be null unless n_clusters is null");
  if (!params.n_clusters && !params.distance_threshold)
    refuse_param(owner, "n_clusters", nullptr, "must be a number without a distance_threshold");
  const auto* const full = std::get_if<bool>(&params.compute_full_tree.data);
  if (params.distance_threshold && full && !*full)
    refuse_param(owner, "compute_full_tree", false, "must be true or \"auto\" with a distance_threshold");
  if (params.linkage == "ward" && params.metric != "euclidean" && params.metric != "l2")
    refuse_param(owner, "metric", params.metric, "must be \"euclidean\" with linkage=\"ward\"");
}

Squares squares_of(const AgglomerativeParams& params) {
  return is_manhattan(params) || params.metric == "cosine" ? Squares::kNone : Squares::kRows;
}

std::vector<std::string> agglomerative_deviations() {
  return {"Of equal distances the one between the lower points is taken first.",
          "connectivity, precomputed distances, other metrics than the listed ones, and callables are refused.",
          "linkage \"complete\" and \"average\" hold a matrix of points x points; \"ward\" and \"single\" hold none."};
}

std::int64_t agglomeration_bytes(const schema::Step& step, std::int64_t n, std::int64_t dims) {
  const std::string linkage = memory::text(step, "linkage");
  const bool has_matrix = linkage == "complete" || linkage == "average";
  return bytes_of(n, dims, 3 * memory::kDouble) + bytes_of(n, 24, memory::kDouble) +
         (has_matrix ? bytes_of(n, n, memory::kDouble) : 0);
}

void Agglomeration::fit(const Context& ctx, std::string_view owner, const AgglomerativeParams& params,
                        std::vector<double> points, std::int64_t n, std::int64_t dims) {
  require(params.n_clusters.value_or(1) <= n, schema::ErrorCode::kBadData, "{}: n_clusters is {}, must be at most {}", owner,
          params.n_clusters.value_or(1), n);
  const bool is_cosine = params.metric == "cosine";
  if (is_cosine) make_unit_rows(owner, points, dims);
  const Linkage linkage = linkage_of(params.linkage);
  const Distance distance{is_manhattan(params) ? Metric::kManhattan : Metric::kEuclidean};
  tree = dendrogram(linkage_merges(ctx, linkage, points, n, dims, distance, is_cosine), linkage != Linkage::kSingle);
  n_clusters = params.n_clusters ? *params.n_clusters
                                 : 1 + std::ranges::count_if(tree.heights, [&](double height) {
                                     return height >= *params.distance_threshold;
                                   });
  labels = cut(tree, n_clusters);
}

schema::ValueMap Agglomeration::attributes(const AgglomerativeParams& params) const {
  std::vector<double> children;
  for (const auto& pair : tree.children) children.insert(children.end(), pair.begin(), pair.end());
  schema::ValueMap map{{"n_clusters_", n_clusters},
                       {"labels_", std::vector<double>(labels.begin(), labels.end())},
                       {"n_leaves_", static_cast<std::int64_t>(labels.size())},
                       {"n_connected_components_", std::int64_t{1}},
                       {"children_", rows_value(children, 2)}};
  if (params.compute_distances || params.distance_threshold) map.emplace_back("distances_", tree.heights);
  return map;
}

std::vector<std::string> Agglomeration::attribute_names() {
  return {"n_clusters_", "labels_", "n_leaves_", "n_connected_components_", "children_", "distances_"};
}

void Agglomeration::state(StateArchive& archive) {
  archive.indices("labels", labels, kAnySize, 0, kMaxSize);
  const auto n = static_cast<std::int64_t>(labels.size());
  archive.number("n_clusters", n_clusters, 0, n);
  std::vector<std::int32_t> children;
  for (const auto& pair : tree.children) children.insert(children.end(), pair.begin(), pair.end());
  archive.indices("children", children, std::max<std::int64_t>(0, 2 * (n - 1)), 0, 2 * n);
  archive.field("heights", tree.heights, std::max<std::int64_t>(0, n - 1));
  tree.children.clear();
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) tree.children.push_back({children[i], children[i + 1]});
}

}   // namespace kedge::engine
