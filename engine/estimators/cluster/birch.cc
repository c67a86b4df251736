// Birch: the tree on the host, the nearest subclusters of rows on the device.
#include "engine/estimators/cluster/birch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/agglomeration.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/cluster/feature_tree.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = BirchParams;
constexpr const char* kName = "Birch";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("threshold", &P::threshold, above(0), "Radius of a subcluster beyond which a row begins a new one.")
          .add("branching_factor", &P::branching_factor, at_least(2),
               "Subclusters of a node beyond which it is divided.")
          .add("n_clusters", &P::n_clusters, at_least(1),
               "Clusters that the subclusters are merged into; null: each is one.")
          .ignore("compute_labels", true, {boolean_form()});
  return set;
}

}   // namespace

template <class T>
Birch<T>::Birch(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo Birch<T>::info() {
  return {
      .name = kName,
      .kind = "clusterer",
      .family = "cluster",
      .doc = "Clusters of small subclusters, which one pass over the rows finds.",
      .params = param_set().infos(),
      .attributes = {"subcluster_centers_", "subcluster_labels_", "labels_"},
      .deviations = {
          "Subclusters keep sums of squares about their means, not about 0: far from 0 scikit-learn's radii are rounding "
          "errors.",
          "Of the halves of a node the one with the lower of its two farthest subclusters is first; in scikit-learn rounding "
          "decides, which changes the order of the subclusters.",
          "n_clusters can't be another clusterer.", "Labels are always computed.",
          "Sparse data are made dense, up to 134,217,728 cells."}};
}

template <class T>
MemoryNeed Birch<T>::memory(const SampleShape& X, const schema::Step&) {
  constexpr std::int64_t kOfRow = 160;   // a subcluster of its own, and its merges
  MemoryNeed need = memory::makes(X, X.rows, X.copy() + 8 * memory::doubles(X) + X.rows * kOfRow + memory::block(X));
  need.minimum = memory::doubles(X), need.is_exact = false;
  return need;
}

template <class T>
void Birch<T>::label_subclusters(const Context& ctx, const std::vector<double>& means) {
  const std::int64_t n = static_cast<std::int64_t>(means.size()) / n_features_;
  cluster_of_.resize(static_cast<std::size_t>(n));
  std::iota(cluster_of_.begin(), cluster_of_.end(), 0);
  if (!params_.n_clusters) return;
  if (n < *params_.n_clusters) {
    ctx.warn(
        fmt::format("{}: found {} subclusters, n_clusters is {}; lower the threshold", kName, n, *params_.n_clusters));
    return;
  }
  if (n < 2) return;
  Agglomeration merged;
  merged.fit(ctx, kName, {.n_clusters = params_.n_clusters}, means, n, n_features_);
  cluster_of_ = std::move(merged.labels);
}

template <class T>
void Birch<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  constexpr std::int64_t kShown = 4096;   // rows between two looks at the stop token
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  const std::vector<double> rows = host_values(ctx, X);
  FeatureTree tree(n_features_, params_.threshold, params_.branching_factor);
  for (std::int64_t i = 0; i < X.n_rows(); ++i) {
    if (i % kShown == 0) ctx.check_stop(), ctx.progress("rows", i, X.n_rows(), "rows");
    tree.insert(rows.data() + i * n_features_);
  }
  const std::vector<double> means = tree.means();
  label_subclusters(ctx, means);
  centers_.assign(means.begin(), means.end());
  labels_ = predict(ctx, X);
}

template <class T>
std::vector<std::int32_t> Birch<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  std::vector<std::int32_t> labels = nearest_centers(ctx, X, centers_);
  for (std::int32_t& label : labels) label = cluster_of_[static_cast<std::size_t>(label)];
  return labels;
}

template <class T>
Samples<T> Birch<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return center_distances(ctx, X, centers_);
}

template <class T>
schema::ValueMap Birch<T>::attributes() const {
  return {{"subcluster_centers_", rows_value({centers_.begin(), centers_.end()}, n_features_)},
          {"subcluster_labels_", std::vector<double>(cluster_of_.begin(), cluster_of_.end())},
          {"labels_", std::vector<double>(labels_.begin(), labels_.end())}};
}

template <class T>
void Birch<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  auto n_centers = static_cast<std::int64_t>(cluster_of_.size());
  archive.number("n_subclusters", n_centers, 1, kMaxSize);
  archive.field("centers", centers_, n_centers, n_features_);
  archive.expect_finite("centers", centers_);
  archive.indices("subcluster_labels", cluster_of_, n_centers, 0, n_centers - 1);
  archive.indices("labels", labels_, kAnySize, 0, n_centers - 1);
}

template class Birch<float>;
template class Birch<double>;

}   // namespace kedge::engine
