// SpectralClustering: the graph, its leading eigenvectors, and labels of their rows.
#include "engine/estimators/cluster/spectral_clustering.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/cluster/label_assignment.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = SpectralClusteringParams;
constexpr const char* kName = "SpectralClustering";
constexpr const char* kNeighbors = "nearest_neighbors";
constexpr const char* kPrecomputed = "precomputed";

std::vector<std::string> affinities() {
  std::vector<std::string> names = kernel_names();
  names.emplace_back(kNeighbors), names.emplace_back(kPrecomputed);
  return names;
}

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_clusters", &P::n_clusters, between(1, 2147483646.0), "Number of clusters; at most the rows.")
          .ignore("eigen_solver", nullptr, {string_form({"arpack", "lobpcg", "amg"}), null_form()})
          .add("n_components", &P::n_components, between(1, 2147483646.0), "Eigenvectors to use; null for n_clusters.")
          .random_state(&P::random_state)
          .add("n_init", &P::n_init, at_least(1), "assign_labels=\"kmeans\": runs from different starts.")
          .add("gamma", &P::gamma, at_least(0), "Factor of the rbf, poly, sigmoid and laplacian kernels.")
          .add("affinity", &P::affinity, affinities(),
               "How alike two rows are: a kernel, whether they are neighbours, or X itself, a square of affinities.")
          .add("n_neighbors", &P::n_neighbors, between(1, kMostGraphNeighbors), "Neighbours of a row, itself counted.")
          .ignore("eigen_tol", "auto", {number_form(at_least(0)), string_form({"auto"})})
          .add("assign_labels", &P::assign_labels, {"kmeans", "discretize", "cluster_qr"},
               "How the places are divided.")
          .add("degree", &P::degree, at_least(0), "Degree of the poly kernel.")
          .add("coef0", &P::coef0, {}, "Constant of the poly and sigmoid kernels.")
          .ignore("kernel_params", nullptr, {null_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .ignore("verbose", false, {boolean_form()});
  return set;
}

// The labels of k-means on these places less their means.
std::vector<std::int32_t> mean_labels(const Context& ctx, std::vector<double> places, std::int64_t columns,
                                      const P& params, LegacyRandom& random) {
  const auto k = static_cast<std::size_t>(columns), n = places.size() / k;
  for (std::size_t c = 0; c < k; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += places[i * k + c];
    for (std::size_t i = 0; i < n; ++i) places[i * k + c] -= sum / static_cast<double>(n);
  }
  const Matrix<double> rows(ctx.memory(), static_cast<std::int64_t>(n), columns, places);
  return k_means_labels<double>(ctx, rows.view(), params.n_clusters, random, params.n_init);
}

// Places of rows that hardly have an edge are huge; their squares are to be numbers. Labels do not depend on the scale.
void shrink_huge(std::vector<double>& map) {
  constexpr double kHuge = 1e100;
  double largest = 0;
  for (const double place : map) largest = std::max(largest, std::abs(place));
  if (largest < kHuge) return;
  for (double& place : map) place = std::ldexp(place, -std::ilogb(largest));
}

}   // namespace

template <class T>
SpectralClustering<T>::SpectralClustering(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo SpectralClustering<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters of the places that the eigenvectors of a graph of the rows give.",
          .params = param_set().infos(),
          .attributes = {"labels_"},
          .deviations = {"Eigenvectors are found to rounding whatever eigen_solver and eigen_tol say.",
                         "n_neighbors is at most 1024.",
                         "affinity_matrix_ is not kept; the kernels chi2 and additive_chi2, affinity "
                         "\"precomputed_nearest_neighbors\", and callables with their kernel_params are refused.",
                         "Without random_state the seed of the job is taken, so that a job repeats."}};
}

template <class T>
MemoryNeed SpectralClustering<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t clusters = std::min(memory::integer(step, "n_clusters", 8), X.rows);
  const std::int64_t count = std::min(memory::integer(step, "n_components", clusters), X.rows);
  const std::int64_t k = std::min(memory::integer(step, "n_neighbors", 10), X.rows);
  const bool is_sparse = memory::text(step, "affinity") == kNeighbors;
  const std::int64_t graph = is_sparse ? sparse_graph_bytes(X.rows, k, count) : dense_graph_bytes(X.rows, count);
  return {.work = 2 * X.copy() + X.value_size() + 2 * memory::doubles(X) + graph +
                  bytes_of(X.rows, 8 + clusters, memory::kDouble),
          .minimum = is_sparse ? X.copy() : memory::square(X.rows)};
}

template <class T>
AffinityGraph SpectralClustering<T>::graph(const Context& ctx, const Samples<T>& X) const {
  if (params_.affinity == kPrecomputed) return graph_of_matrix(ctx, kName, X);
  if (params_.affinity == kNeighbors) return graph_of_neighbors(ctx, kName, X, params_.n_neighbors);
  return graph_of_kernel(
      ctx, kName, X,
      {.name = params_.affinity, .gamma = params_.gamma, .coef0 = params_.coef0, .degree = params_.degree});
}

template <class T>
void SpectralClustering<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), count = params_.n_components.value_or(params_.n_clusters);
  require(params_.n_clusters <= n, schema::ErrorCode::kBadData, "{}: n_clusters is {}, must be at most the {} rows",
          kName, params_.n_clusters, n);
  require(count <= n, schema::ErrorCode::kBadData, "{}: n_components is {}, must be at most the {} rows", kName, count,
          n);
  require(params_.affinity != kNeighbors || params_.n_neighbors <= n, schema::ErrorCode::kBadData,
          "{}: n_neighbors is {}, must be at most the {} rows", kName, params_.n_neighbors, n);
  n_features_ = X.n_cols();
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  for (std::int64_t i = 0; i < n; ++i) random.uniform();   // scikit-learn's start of the eigenvectors
  std::vector<double> map = spectral_map(ctx, kName, graph(ctx, X), count);
  shrink_huge(map);
  labels_ = params_.assign_labels == "kmeans"       ? mean_labels(ctx, std::move(map), count, params_, random)
            : params_.assign_labels == "cluster_qr" ? pivoted_labels(ctx, map, count)
                                                    : discretized_labels(ctx, std::move(map), count, random);
}

template <class T>
schema::ValueMap SpectralClustering<T>::attributes() const {
  return {{"labels_", std::vector<double>(labels_.begin(), labels_.end())}};
}

template <class T>
void SpectralClustering<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("labels", labels_, kAnySize, 0, kMaxSize);
}

template class SpectralClustering<float>;
template class SpectralClustering<double>;

}   // namespace kedge::engine
