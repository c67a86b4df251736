// SpectralEmbedding: the graph, and its eigenvectors but the first.
#include "engine/estimators/manifold/spectral_embedding.h"

#include <algorithm>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/manifold/affinity_graph.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = SpectralEmbeddingParams;
constexpr const char* kName = "SpectralEmbedding";
constexpr const char* kNeighbors = "nearest_neighbors";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, between(1, 2147483646.0),
               "Dimensions of the embedding; less than the rows.")
          .add(
              "affinity", &P::affinity, {kNeighbors, "rbf", "precomputed"},
              "How alike two rows are: whether they are neighbours, the Gaussian kernel, or X itself, a square of affinities.")
          .add("gamma", &P::gamma, at_least(0), "Factor of the Gaussian kernel; null for 1 / n_features.")
          .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
          .ignore("eigen_solver", nullptr, {string_form({"arpack", "lobpcg", "amg"}), null_form()})
          .ignore("eigen_tol", "auto", {number_form(at_least(0)), string_form({"auto"})})
          .add("n_neighbors", &P::n_neighbors, between(1, kMostGraphNeighbors),
               "Neighbours of a row, itself counted; null for a tenth of the rows, at most 1024.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

std::int64_t neighbors_of(std::optional<std::int64_t> wanted, std::int64_t rows) {
  return wanted.value_or(std::clamp<std::int64_t>(rows / 10, 1, kMostGraphNeighbors));
}

}   // namespace

template <class T>
SpectralEmbedding<T>::SpectralEmbedding(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo SpectralEmbedding<T>::info() {
  return {
      .name = kName,
      .kind = "embedding",
      .family = "manifold",
      .doc = "Rows at the places that the eigenvectors of a graph of them give.",
      .params = param_set().infos(),
      .attributes = {"embedding_", "n_neighbors_", "gamma_"},
      .deviations = {
          "Eigenvectors are found to rounding whatever eigen_solver and eigen_tol say; random_state has no influence.",
          "n_neighbors is at most 1024, and so is its default.",
          "affinity_matrix_ is not kept; affinity \"precomputed_nearest_neighbors\" and callables are refused.",
          "Sparse rows are made dense, and have neighbours too.",
          "It is the last step of a pipeline; embedding_ is in the result."}};
}

template <class T>
MemoryNeed SpectralEmbedding<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t count = std::min(memory::integer(step, "n_components", 2), X.rows) + 1;
  const std::int64_t k = std::min(X.rows, memory::integer(step, "n_neighbors", neighbors_of({}, X.rows)));
  const bool is_sparse = memory::text(step, "affinity") == kNeighbors;
  const std::int64_t rows = 2 * X.copy() + X.value_size() + 2 * memory::doubles(X);
  return {.work = rows + (is_sparse ? sparse_graph_bytes(X.rows, k, count) : dense_graph_bytes(X.rows, count)),
          .minimum = is_sparse ? X.copy() : memory::square(X.rows)};
}

template <class T>
void SpectralEmbedding<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  n_rows_ = X.n_rows(), n_features_ = X.n_cols();
  require(params_.n_components < n_rows_, schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be less than the {} rows", kName, params_.n_components, n_rows_);
  n_neighbors_ = params_.affinity == kNeighbors ? neighbors_of(params_.n_neighbors, n_rows_) : 0;
  require(n_neighbors_ <= n_rows_, schema::ErrorCode::kBadData, "{}: n_neighbors is {}, must be at most the {} rows",
          kName, n_neighbors_, n_rows_);
  AffinityGraph graph =
      params_.affinity == kNeighbors ? graph_of_neighbors(ctx, kName, X, n_neighbors_)
      : params_.affinity == "rbf"
          ? graph_of_kernel(ctx, kName, X, {.gamma = params_.gamma.value_or(1 / static_cast<double>(n_features_))})
          : graph_of_matrix(ctx, kName, X);
  const std::vector<double> map = spectral_map(ctx, kName, std::move(graph), params_.n_components + 1);
  embedding_.clear();
  for (auto row = map.begin(); row != map.end(); row += params_.n_components + 1)
    embedding_.insert(embedding_.end(), row + 1, row + params_.n_components + 1);
}

template <class T>
schema::ValueMap SpectralEmbedding<T>::attributes() const {
  schema::ValueMap map{{"embedding_", rows_value(embedding_, params_.n_components)}};
  if (params_.affinity == kNeighbors) map.emplace_back("n_neighbors_", n_neighbors_);
  if (params_.affinity == "rbf")
    map.emplace_back("gamma_", params_.gamma.value_or(1 / static_cast<double>(n_features_)));
  return map;
}

template <class T>
void SpectralEmbedding<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_rows", n_rows_, 0, kMaxSize);
  archive.number("n_neighbors", n_neighbors_, 0, kMostGraphNeighbors);
  archive.field("embedding", embedding_, n_rows_, params_.n_components);
}

template class SpectralEmbedding<float>;
template class SpectralEmbedding<double>;

}   // namespace kedge::engine
