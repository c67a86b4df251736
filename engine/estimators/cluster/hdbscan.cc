// HDBSCAN: neighbours on the device, the spanning tree and its clusters on the host.
#include "engine/estimators/cluster/hdbscan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/cluster/spanning_tree.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = HdbscanParams;
constexpr const char* kName = "HDBSCAN";
constexpr std::int64_t kMostNeighbors = 1024;   // that a search finds

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("min_cluster_size", &P::min_cluster_size, at_least(2), "Rows that make a cluster.")
        .add("min_samples", &P::min_samples, between(1, kMostNeighbors),
             "The neighbour, the row itself counted, whose distance is the least of a row; null takes min_cluster_size.")
        .add("cluster_selection_epsilon", &P::cluster_selection_epsilon, at_least(0),
             "Clusters that part at less than this distance stay together.")
        .add("max_cluster_size", &P::max_cluster_size, at_least(1), "Larger clusters are divided.")
        .add("alpha", &P::alpha, above(0), "Divides the distances, not those to neighbours.")
        .add("cluster_selection_method", &P::cluster_selection_method, {"eom", "leaf"},
             "eom: the clusters that exist over most of the density; leaf: those that part no further.")
        .add("allow_single_cluster", &P::allow_single_cluster, "Whether all rows may be one cluster.")
        .any("store_centers", &P::store_centers, {string_form({"centroid", "medoid", "both"}), null_form()},
             "Which centres of the clusters are kept.")
        .ignore("copy", false, {boolean_form()});
    return add_neighbor_params(s);
  }();
  return set;
}

// The member from which the distances to the others, weighted, sum up to least.
std::size_t medoid_of(const std::vector<double>& members, const std::vector<double>& weights, std::int64_t dims,
                      const Distance& distance, bool halves) {
  const auto n = static_cast<std::int64_t>(weights.size());
  const PointLanes points(members, n, dims);
  std::pair<double, std::int64_t> best{std::numeric_limits<double>::infinity(), 0};
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t begin = 0; begin < n; begin += PointLanes::kBlock) {
      std::array<double, PointLanes::kBlock> gap;
      const std::int64_t count = std::min(n - begin, PointLanes::kBlock);
      points.reduced(distance, members.data() + i * dims, begin, count, gap.data());
      for (std::int64_t j = 0; j < count; ++j) {
        const double reduced = gap[static_cast<std::size_t>(j)];
        sum += weights[static_cast<std::size_t>(begin + j)] * (halves ? reduced / 2 : distance.restored(reduced));
      }
    }
    best = std::min(best, {sum, i});
  }
  return static_cast<std::size_t>(best.second);
}

}   // namespace

template <class T>
HDBSCAN<T>::HDBSCAN(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
  if (!params_.min_samples && params_.min_cluster_size > kMostNeighbors)
    refuse_param(kName, "min_samples", nullptr, "must be set, to at most 1024, where min_cluster_size is more than that");
}

template <class T>
schema::EstimatorInfo HDBSCAN<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters that are dense over the widest range of densities, and noise.",
          .params = param_set().infos(),
          .attributes = {"labels_", "probabilities_", "centroids_", "medoids_"},
          .deviations = {"Of equal edges of the tree the one between the nearer rows is taken first, then that of the "
                         "lower rows; scikit-learn leaves it to its sort.",
                         "min_samples is at most 1024.", "Missing and infinite values are refused.",
                         "With metric \"cosine\" a row of zeros is refused.",
                         "Other metrics than the listed ones, precomputed distances, and callables are refused."}};
}

template <class T>
MemoryNeed HDBSCAN<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t neighbors = std::max(memory::integer(step, "min_samples"), memory::integer(step, "min_cluster_size"));
  constexpr std::int64_t kOfRow = 400;   // edges, nodes, and what leaves clusters
  const std::int64_t lists = std::min(bytes_of(X.rows, neighbors, 24), std::int64_t{512} << 20);
  return {.work = 2 * X.copy() + X.value_size() + 3 * memory::doubles(X) + X.rows * kOfRow + lists,
          .minimum = X.copy() + memory::doubles(X)};
}

// The reduced distance of each row to its min_samples-th neighbour.
template <class T>
std::vector<double> HDBSCAN<T>::reaches(const Context& ctx, const Samples<T>& X, const std::vector<double>& rows,
                                        const Distance& distance) const {
  const std::int64_t n = X.n_rows(), dims = X.n_cols(), k = params_.min_samples.value_or(params_.min_cluster_size);
  require(k <= n, schema::ErrorCode::kBadData, "{}: {} is {}, must be at most the {} rows", kName,
          params_.min_samples ? "min_samples" : "min_cluster_size, and so min_samples,", k, n);
  NeighborModel<T> model;
  model.fit(ctx, X, params_);
  const PointLanes points(rows, n, dims);   // the same sums as between the rows of an edge
  std::vector<double> reach(static_cast<std::size_t>(n));
  model.nearest(ctx, kName, X, k, [&](const NearestLists& lists) {
    for (std::int64_t i = 0; i < lists.count; ++i)
      points.reduced(distance, rows.data() + (lists.first + i) * dims, lists.indices_of(i).back(), 1,
                     reach.data() + lists.first + i);
  });
  return reach;
}

template <class T>
void HDBSCAN<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const NeighborMetric metric(params_);
  const std::int64_t n = X.n_rows(), dims = X.n_cols();
  std::vector<double> rows = host_values(ctx, X);
  if (metric.is_cosine) make_unit_rows(kName, rows, dims);
  std::vector<double> reach = reaches(ctx, X, rows, metric.distance);
  for (double& least : reach) least *= metric.is_cosine ? params_.alpha : metric.distance.reduced(params_.alpha);

  std::vector<TreeEdge> edges = spanning_tree(ctx, rows, n, dims, metric.distance, reach);
  std::ranges::sort(edges, {}, [](const TreeEdge& edge) {
    return std::tuple(edge.length, edge.between, std::min(edge.a, edge.b), std::max(edge.a, edge.b));
  });
  std::vector<Merge> merges;
  merges.reserve(edges.size());
  for (const TreeEdge& edge : edges) {
    const double length = metric.is_cosine ? edge.length / 2 : metric.distance.restored(edge.length);
    merges.push_back({edge.a, edge.b, length / params_.alpha});
  }
  chosen_ = choose_clusters(dendrogram(merges, false), {.min_cluster_size = params_.min_cluster_size,
                                                        .max_cluster_size = params_.max_cluster_size,
                                                        .epsilon = params_.cluster_selection_epsilon,
                                                        .by_leaves = params_.cluster_selection_method == "leaf",
                                                        .allows_one = params_.allow_single_cluster});
  n_features_ = dims;
  centroids_.clear(), medoids_.clear();
  if (params_.store_centers) store_centers(metric.is_cosine ? host_values(ctx, X) : rows, metric.distance, metric.is_cosine);
}

template <class T>
void HDBSCAN<T>::store_centers(const std::vector<double>& rows, const Distance& distance, bool is_cosine) {
  const auto dims = static_cast<std::size_t>(n_features_);
  for (std::int32_t cluster = 0; cluster < chosen_.n_clusters; ++cluster) {
    std::vector<double> members, weights, centre(dims, 0.0);
    for (std::size_t i = 0; i < chosen_.labels.size(); ++i) {
      if (chosen_.labels[i] != cluster) continue;
      const double* const row = rows.data() + i * dims;
      members.insert(members.end(), row, row + dims), weights.push_back(chosen_.probabilities[i]);
      for (std::size_t j = 0; j < dims; ++j) centre[j] += weights.back() * row[j];
    }
    const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& x : centre) x /= weight;
    if (*params_.store_centers != "medoid") centroids_.insert(centroids_.end(), centre.begin(), centre.end());
    if (*params_.store_centers == "centroid") continue;
    std::vector<double> compared = members;
    if (is_cosine) make_unit_rows(kName, compared, n_features_);
    const double* const medoid = members.data() + medoid_of(compared, weights, n_features_, distance, is_cosine) * dims;
    medoids_.insert(medoids_.end(), medoid, medoid + dims);
  }
}

template <class T>
schema::ValueMap HDBSCAN<T>::attributes() const {
  schema::ValueMap map{{"labels_", std::vector<double>(chosen_.labels.begin(), chosen_.labels.end())},
                       {"probabilities_", chosen_.probabilities}};
  if (!params_.store_centers) return map;
  if (*params_.store_centers != "medoid") map.emplace_back("centroids_", rows_value(centroids_, n_features_));
  if (*params_.store_centers != "centroid") map.emplace_back("medoids_", rows_value(medoids_, n_features_));
  return map;
}

template <class T>
void HDBSCAN<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("labels", chosen_.labels, kAnySize, -1, kMaxSize);
  const auto n = static_cast<std::int64_t>(chosen_.labels.size());
  archive.field("probabilities", chosen_.probabilities, n);
  archive.number("n_clusters", chosen_.n_clusters, 0, n);
  const bool has_centroids = params_.store_centers && *params_.store_centers != "medoid";
  const bool has_medoids = params_.store_centers && *params_.store_centers != "centroid";
  archive.field("centroids", centroids_, has_centroids ? chosen_.n_clusters : 0, n_features_);
  archive.field("medoids", medoids_, has_medoids ? chosen_.n_clusters : 0, n_features_);
}

template class HDBSCAN<float>;
template class HDBSCAN<double>;

}   // namespace kedge::engine
