// AgglomerativeClustering: parameters, and the tree of merges, cut.
#include "engine/estimators/cluster/agglomerative_clustering.h"

#include <algorithm>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/linkage.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = AgglomerativeParams;
constexpr const char* kName = "AgglomerativeClustering";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_clusters", &P::n_clusters, at_least(1), "Clusters to find; null with a distance_threshold.")
          .add("metric", &P::metric, {"euclidean", "l2", "manhattan", "l1", "cosine"}, "Distance of two rows.")
          .ignore("memory", nullptr, {null_form()})
          .ignore("connectivity", nullptr, {null_form()})
          .any("compute_full_tree", &P::compute_full_tree, {boolean_form(), string_form({"auto"})},
               "The whole tree is always made; with a distance_threshold this may not be false.")
          .add("linkage", &P::linkage, {"ward", "complete", "average", "single"},
               "Distance of two clusters: the growth of the variance within, or the largest, mean or least distance of "
               "their rows.")
          .add("distance_threshold", &P::distance_threshold, at_least(0), "Clusters this far apart are not merged.")
          .add("compute_distances", &P::compute_distances, "Whether distances_ is kept without a distance_threshold.");
  return set;
}

Linkage linkage_of(const std::string& name) {
  if (name == "complete") return Linkage::kComplete;
  if (name == "average") return Linkage::kAverage;
  return name == "single" ? Linkage::kSingle : Linkage::kWard;
}

bool is_manhattan(const P& params) { return params.metric == "manhattan" || params.metric == "l1"; }

}   // namespace

template <class T>
AgglomerativeClustering<T>::AgglomerativeClustering(const schema::ValueMap& params)
    : params_(param_set().parse(params)) {
  if (params_.n_clusters && params_.distance_threshold)
    refuse_param(kName, "distance_threshold", *params_.distance_threshold, "must be null unless n_clusters is null");
  if (!params_.n_clusters && !params_.distance_threshold)
    refuse_param(kName, "n_clusters", nullptr, "must be a number without a distance_threshold");
  const auto* const full = std::get_if<bool>(&params_.compute_full_tree.data);
  if (params_.distance_threshold && full && !*full)
    refuse_param(kName, "compute_full_tree", false, "must be true or \"auto\" with a distance_threshold");
  if (params_.linkage == "ward" && params_.metric != "euclidean" && params_.metric != "l2")
    refuse_param(kName, "metric", params_.metric, "must be \"euclidean\" with linkage=\"ward\"");
}

template <class T>
schema::EstimatorInfo AgglomerativeClustering<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters by merging the two nearest ones, again and again.",
          .params = param_set().infos(),
          .attributes = {"n_clusters_", "labels_", "n_leaves_", "n_connected_components_", "children_", "distances_"},
          .deviations = {"Of equal distances the one between the lower rows is taken first.",
                         "connectivity, precomputed distances, other metrics than the listed ones, and callables are "
                         "refused.",
                         "linkage \"complete\" and \"average\" hold a matrix of rows x rows; \"ward\" and \"single\" hold none."}};
}

template <class T>
MemoryNeed AgglomerativeClustering<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::string linkage = memory::text(step, "linkage");
  const std::int64_t matrix =
      linkage == "complete" || linkage == "average" ? bytes_of(X.rows, X.rows, memory::kDouble) : 0;
  return {.work = X.copy() + 3 * memory::doubles(X) + X.rows * 24 * memory::kDouble + matrix,
          .minimum = matrix + memory::doubles(X)};
}

template <class T>
Squares AgglomerativeClustering<T>::squares() const {
  return is_manhattan(params_) || params_.metric == "cosine" ? Squares::kNone : Squares::kRows;
}

template <class T>
std::int64_t AgglomerativeClustering<T>::clusters_wanted(std::int64_t n_rows) const {
  if (params_.distance_threshold)
    return 1 + std::ranges::count_if(tree_.heights, [&](double height) { return height >= *params_.distance_threshold; });
  require(*params_.n_clusters <= n_rows, schema::ErrorCode::kBadData, "{}: n_clusters is {}, must be at most the {} rows",
          kName, *params_.n_clusters, n_rows);
  return *params_.n_clusters;
}

template <class T>
void AgglomerativeClustering<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), dims = X.n_cols();
  tree_ = {};
  if (params_.n_clusters) clusters_wanted(n);   // refuses too many before any work
  std::vector<double> rows = host_values(ctx, X);
  const bool is_cosine = params_.metric == "cosine";
  if (is_cosine) make_unit_rows(kName, rows, dims);
  const Linkage linkage = linkage_of(params_.linkage);
  const Distance distance{is_manhattan(params_) ? Metric::kManhattan : Metric::kEuclidean};
  tree_ = dendrogram(linkage_merges(ctx, linkage, rows, n, dims, distance, is_cosine), linkage != Linkage::kSingle);
  n_clusters_ = clusters_wanted(n);
  labels_ = cut(tree_, n_clusters_);
  n_features_ = dims;
}

template <class T>
schema::ValueMap AgglomerativeClustering<T>::attributes() const {
  std::vector<double> children;
  for (const auto& pair : tree_.children) children.insert(children.end(), pair.begin(), pair.end());
  schema::ValueMap map{{"n_clusters_", n_clusters_},
                       {"labels_", std::vector<double>(labels_.begin(), labels_.end())},
                       {"n_leaves_", static_cast<std::int64_t>(labels_.size())},
                       {"n_connected_components_", std::int64_t{1}},
                       {"children_", rows_value(children, 2)}};
  if (params_.compute_distances || params_.distance_threshold) map.emplace_back("distances_", tree_.heights);
  return map;
}

template <class T>
void AgglomerativeClustering<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("labels", labels_, kAnySize, 0, kMaxSize);
  const auto n = static_cast<std::int64_t>(labels_.size());
  archive.number("n_clusters", n_clusters_, 0, n);
  std::vector<std::int32_t> children;
  for (const auto& pair : tree_.children) children.insert(children.end(), pair.begin(), pair.end());
  archive.indices("children", children, std::max<std::int64_t>(0, 2 * (n - 1)), 0, 2 * n);
  archive.field("heights", tree_.heights, std::max<std::int64_t>(0, n - 1));
  tree_.children.clear();
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) tree_.children.push_back({children[i], children[i + 1]});
}

template class AgglomerativeClustering<float>;
template class AgglomerativeClustering<double>;

}   // namespace kedge::engine
