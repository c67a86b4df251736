// OPTICS: neighbours on the device, the order of the rows and its clusters on the host.
#include "engine/estimators/cluster/optics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = OpticsParams;
constexpr const char* kName = "OPTICS";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostNeighbors = 1024;                 // that a search finds
constexpr std::int64_t kMostPairs = std::int64_t{32} << 20;   // that are listed

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.any("min_samples", &P::min_samples, {integer_form(at_least(2)), number_form(between(0, 1))},
          "Rows within the core distance of a row, itself included; below 1 a share of all rows.")
        .add("max_eps", &P::max_eps, at_least(0), "Distance beyond which rows are no neighbours; null: no limit.")
        .add("cluster_method", &P::cluster_method, {"xi", "dbscan"},
             "xi: clusters between steep slopes; dbscan: below the distance eps.")
        .add("eps", &P::eps, at_least(0), "Distance of cluster_method \"dbscan\"; null takes max_eps.")
        .add("xi", &P::xi, between(0, 1), "Least share by which a slope falls or rises.")
        .add("predecessor_correction", &P::predecessor_correction,
             "Whether a cluster ends with a row that was reached from within.")
        .any("min_cluster_size", &P::min_cluster_size,
             {integer_form(at_least(2)), number_form(above_up_to(0, 1)), null_form()},
             "Rows of a cluster, or their share of all; null takes min_samples.")
        .ignore("memory", nullptr, {null_form()});
    return add_neighbor_params(s);
  }();
  return set;
}

// A number of rows, or a share of n. Errors: kBadData for more than there are.
std::int64_t rows_of_share(const char* name, const schema::Value& value, std::int64_t n) {
  constexpr std::int64_t kFewest = 2;
  if (const auto* const share = std::get_if<double>(&value.data))
    return std::max(kFewest, static_cast<std::int64_t>(*share * static_cast<double>(n)));
  const std::int64_t count = std::get<std::int64_t>(value.data);
  require(count <= n, schema::ErrorCode::kBadData, "{}: {} is {}, must be at most the {} rows", kName, name, count, n);
  return count;
}

// Some rows of X that stand evenly apart.
template <class T>
Samples<T> some_rows(const Context& ctx, const Samples<T>& X, std::int64_t count) {
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(static_cast<std::int32_t>(i * X.n_rows() / count));
  const Array<std::int32_t> rows(ctx.memory(), std::span<const std::int32_t>(chosen));
  Matrix<T> scratch, out(ctx.memory(), count, X.n_cols());
  ctx.ops<T>().tables->gather(X.values(ctx, scratch), rows.view(), {}, {}, out.view());
  return samples_of(std::move(out));
}

}   // namespace

template <class T>
OPTICS<T>::OPTICS(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
  if (params_.eps && params_.max_eps && *params_.eps > *params_.max_eps)
    refuse_param(kName, "eps", *params_.eps, "must be at most max_eps = " + fmt::format("{:g}", *params_.max_eps));
}

template <class T>
schema::EstimatorInfo OPTICS<T>::info() {
  return {
      .name = kName,
      .kind = "clusterer",
      .family = "cluster",
      .doc = "Rows in the order of their density, and clusters of any density in it.",
      .params = param_set().infos(),
      .attributes = {"labels_", "ordering_", "reachability_", "core_distances_", "predecessor_", "cluster_hierarchy_"},
      .deviations = {"max_eps = null stands for scikit-learn's infinity.", "min_samples is at most 1024 rows.",
                     "cluster_hierarchy_ is there with cluster_method \"xi\" alone.",
                     "With metric \"cosine\" a row of zeros is refused.",
                     "Other metrics than the listed ones, precomputed distances, and callables are refused."}};
}

template <class T>
MemoryNeed OPTICS<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t neighbors =
      std::min(kMostNeighbors, std::max<std::int64_t>(2, memory::integer(step, "min_samples", kMostNeighbors)));
  constexpr std::int64_t kOfRow = 200, kUsualPairs = 64;
  const schema::Value* const limit = find_value(step.params, "max_eps");
  const bool has_lists = limit && !limit->is_null();
  const std::int64_t lists = std::min(bytes_of(X.rows, neighbors, 24), std::int64_t{512} << 20) +
                             (has_lists ? std::min(kMostPairs * 4, bytes_of(X.rows, kUsualPairs, 24)) : 0);
  return {.work = 2 * X.copy() + X.value_size() + 3 * memory::doubles(X) + X.rows * kOfRow + lists,
          .minimum = X.copy() + memory::doubles(X)};
}

template <class T>
std::vector<double> OPTICS<T>::core_distances(const Context& ctx, const NeighborModel<T>& model, const Samples<T>& X,
                                              const OpticsRows& points, std::int64_t min_samples) const {
  const PointLanes lanes(points.rows, points.n, points.dims);   // the same sums as in the order
  std::vector<double> core(static_cast<std::size_t>(points.n));
  model.nearest(ctx, kName, X, min_samples, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      const std::int64_t row = found.first + i;
      double reduced = 0;
      lanes.reduced(points.distance, points.rows.data() + row * points.dims, found.indices_of(i).back(), 1, &reduced);
      const double distance = points.distance_of(reduced);
      core[static_cast<std::size_t>(row)] =
          params_.max_eps && distance > *params_.max_eps ? kInfinity : optics_rounded(distance);
    }
  });
  return core;
}

// The rows within max_eps of each; none where they are too many to list.
template <class T>
OpticsLists OPTICS<T>::lists(const Context& ctx, const NeighborModel<T>& model, const Samples<T>& X) const {
  constexpr std::int64_t kSampled = 256;
  if (!params_.max_eps) return {};
  const std::int64_t sampled = std::min(kSampled, X.n_rows());
  double pairs = 0;
  model.within(ctx, kName, some_rows(ctx, X, sampled), *params_.max_eps,
               [&](std::int64_t, std::span<const std::int32_t> indices, std::span<const double>) {
                 pairs += static_cast<double>(indices.size());
               });
  const double expected = pairs / static_cast<double>(sampled) * static_cast<double>(X.n_rows());
  const double of_all = static_cast<double>(X.n_rows()) * static_cast<double>(X.n_rows());
  if (expected > static_cast<double>(kMostPairs) / 2 || expected > of_all / 8) return {};   // a scan is as fast
  OpticsLists made;
  made.offsets.push_back(0);
  model.within(ctx, kName, X, *params_.max_eps,
               [&](std::int64_t, std::span<const std::int32_t> indices, std::span<const double>) {
                 if (static_cast<std::int64_t>(made.rows.size()) <= kMostPairs)
                   made.rows.insert(made.rows.end(), indices.begin(), indices.end());
                 made.offsets.push_back(static_cast<std::int64_t>(made.rows.size()));
               });
  if (static_cast<std::int64_t>(made.rows.size()) > kMostPairs) return {};
  return made;
}

template <class T>
void OPTICS<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), min_samples = rows_of_share("min_samples", params_.min_samples, n);
  require(min_samples <= kMostNeighbors, schema::ErrorCode::kBadData, "{}: min_samples is {} rows, must be at most {}",
          kName, min_samples, kMostNeighbors);
  const NeighborMetric metric(params_);
  std::vector<double> rows = host_values(ctx, X);
  if (metric.is_cosine) make_unit_rows(kName, rows, X.n_cols());
  const double most = params_.max_eps.value_or(kInfinity);
  const OpticsRows points{rows,
                          n,
                          X.n_cols(),
                          metric.distance,
                          metric.is_cosine,
                          metric.is_cosine ? 2 * most : metric.distance.reduced(most)};
  NeighborModel<T> model;
  model.fit(ctx, X, params_);
  std::vector<double> core = core_distances(ctx, model, X, points, min_samples);
  found_ = optics_order(ctx, points, std::move(core), lists(ctx, model, X));
  n_features_ = X.n_cols();
  if (std::ranges::all_of(found_.reach, [](double reach) { return std::isinf(reach); }))
    ctx.warn("OPTICS: no row reaches another; a larger max_eps would find clusters");
  find_clusters(min_samples, n);
}

template <class T>
void OPTICS<T>::find_clusters(std::int64_t min_samples, std::int64_t n) {
  clusters_.clear();
  if (params_.cluster_method == "dbscan") {
    labels_ = labels_within(found_, params_.eps ? *params_.eps : params_.max_eps.value_or(kInfinity));
    return;
  }
  const std::int64_t least =
      params_.min_cluster_size.is_null() ? min_samples : rows_of_share("min_cluster_size", params_.min_cluster_size, n);
  clusters_ = xi_clusters(found_, {.xi = params_.xi,
                                   .min_samples = min_samples,
                                   .min_cluster_size = least,
                                   .corrects_predecessors = params_.predecessor_correction});
  labels_ = xi_labels(found_, clusters_);
}

template <class T>
schema::ValueMap OPTICS<T>::attributes() const {
  schema::ValueMap all{{"labels_", std::vector<double>(labels_.begin(), labels_.end())},
                       {"ordering_", std::vector<double>(found_.order.begin(), found_.order.end())},
                       {"reachability_", found_.reach},
                       {"core_distances_", found_.core},
                       {"predecessor_", std::vector<double>(found_.predecessor.begin(), found_.predecessor.end())}};
  if (params_.cluster_method != "xi") return all;
  std::vector<double> places;
  for (const XiCluster& cluster : clusters_) places.insert(places.end(), cluster.begin(), cluster.end());
  all.emplace_back("cluster_hierarchy_", rows_value(places, 2));
  return all;
}

template <class T>
void OPTICS<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("labels", labels_, kAnySize, -1, kMaxSize);
  const auto n = static_cast<std::int64_t>(labels_.size());
  archive.indices("order", found_.order, n, 0, n - 1);
  archive.indices("predecessor", found_.predecessor, n, -1, n - 1);
  archive.field("reach", found_.reach, n);
  archive.field("core", found_.core, n);
  std::vector<std::int32_t> places;
  for (const XiCluster& cluster : clusters_) places.insert(places.end(), cluster.begin(), cluster.end());
  archive.indices("clusters", places, kAnySize, 0, n - 1);
  if (!archive.is_loading()) return;
  archive.expect(places.size() % 2 == 0, "clusters", "has a first place without a last one");
  clusters_.clear();
  for (std::size_t i = 0; i < places.size(); i += 2) clusters_.push_back({places[i], places[i + 1]});
}

template class OPTICS<float>;
template class OPTICS<double>;

}   // namespace kedge::engine
