// TSNE: affinities of neighbours, and gradient descent on their divergence from those of the points.
#include "engine/estimators/manifold/tsne.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/decomposition/pca.h"
#include "engine/estimators/manifold/host_descent.h"
#include "engine/estimators/manifold/repulsion.h"
#include "engine/estimators/manifold/row_blocks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = TsneParams;
constexpr const char* kName = "TSNE";
constexpr std::int64_t kMostNeighbors = 1023;   // that a search finds, besides the row itself
constexpr std::int64_t kExploration = 250;      // iterations with exaggerated affinities
constexpr std::int64_t kMostDeviceRows = 200'000;   // whose pairs a GPU computes faster than the host walks a tree
constexpr double kStartWidth = 1e-4;            // standard deviation of the first coordinate

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("n_components", &P::n_components, between(1, kMostDims), "Dimensions of the embedding.")
        .add("perplexity", &P::perplexity, above(0), "About how many neighbours a row has; less than the rows.")
        .add("early_exaggeration", &P::early_exaggeration, at_least(1), "Factor of the affinities in the first 250 iterations.")
        .any("learning_rate", &P::learning_rate, {number_form(above(0)), string_form({"auto"})},
             "auto: rows / early_exaggeration / 4, at least 50.")
        .add("max_iter", &P::max_iter, at_least(250), "Iterations.")
        .add("n_iter_without_progress", &P::n_iter_without_progress, at_least(-1),
             "Iterations after which it ends where the divergence no longer falls; after the first 250.")
        .add("min_grad_norm", &P::min_grad_norm, at_least(0), "It ends below this length of the gradient.")
        .any("init", &P::init, {string_form({"random", "pca"}), array_form({array_form()})},
             "Where the points start: pca, random, or a list of places.")
        .ignore("verbose", 0, {integer_form()})
        .random_state(&P::random_state)
        .add("method", &P::method, {"barnes_hut", "exact"}, "barnes_hut: far points count as one; exact: each counts.")
        .add("angle", &P::angle, between(0, 1), "barnes_hut: the width of a cell, as a share of its distance, that counts as one point.");
    return add_neighbor_params(s);
  }();
  return set;
}

// All other rows of each row, by index.
NeighborLists all_others(const Context& ctx, const std::vector<double>& rows, std::int64_t n, std::int64_t dims,
                         const NeighborMetric& metric) {
  const PointLanes points(rows, n, dims);
  NeighborLists lists{.n = n, .k = n - 1, .indices = std::vector<std::int32_t>(static_cast<std::size_t>(n * (n - 1))), .distances = {}};
  lists.distances.resize(lists.indices.size());
  for_row_blocks(n, [&](std::int64_t begin, std::int64_t end) {
    ctx.check_stop();
    std::vector<double> reduced(static_cast<std::size_t>(n));
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t at = 0; at < n; at += PointLanes::kBlock)
        points.reduced(metric.distance, rows.data() + i * dims, at, std::min(n - at, PointLanes::kBlock), reduced.data() + at);
      for (std::int64_t j = 0, e = i * (n - 1); j < n; ++j) {
        if (j == i) continue;
        const double value = reduced[static_cast<std::size_t>(j)];
        lists.indices[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(j);
        const bool is_squared = metric.distance.metric == Metric::kEuclidean && !metric.is_cosine;
        lists.distances[static_cast<std::size_t>(e++)] =
            metric.is_cosine ? value / 2 : is_squared ? value : metric.distance.restored(value);
      }
    }
  });
  return lists;
}

}   // namespace

template <class T>
TSNE<T>::TSNE(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
  if (const auto places = rows_of(params_.init); !std::holds_alternative<std::string>(params_.init.data) &&
                                                 (!places || static_cast<std::int64_t>(places->front().size()) != params_.n_components))
    refuse_param(kName, "init", params_.init, fmt::format("must be a list of places of {} numbers", params_.n_components));
}

template <class T>
schema::EstimatorInfo TSNE<T>::info() {
  return {
      .name = kName,
      .kind = "embedding",
      .family = "manifold",
      .doc = "Rows as points of a plane, near rows near each other.",
      .params = param_set().infos(),
      .attributes = {"embedding_", "kl_divergence_", "learning_rate_", "n_iter_"},
      .deviations = {
          "n_components is at most 3.",
          "Points near each other share one "
          "walk of the tree, as near or nearer than by their own.",
          "On a GPU every point counts, up to 200,000 rows: method and angle change no force.",
          "init \"pca\" is solved exactly, \"random\" draws from Philox, not from numpy's generator; in 3 dimensions the gradient is that of the divergence.",
          "It is the last step of a pipeline; embedding_ is in the result.",
          "Other metrics than the listed ones, precomputed distances, and callables are refused."}};
}

template <class T>
MemoryNeed TSNE<T>::memory(const SampleShape& X, const schema::Step& step) {
  const schema::Value* const perplexity = find_value(step.params, "perplexity");
  double wanted = P{}.perplexity;
  if (perplexity && std::holds_alternative<double>(perplexity->data)) wanted = std::get<double>(perplexity->data);
  if (perplexity && std::holds_alternative<std::int64_t>(perplexity->data)) wanted = static_cast<double>(std::get<std::int64_t>(perplexity->data));
  const bool is_exact = memory::text(step, "method") == "exact";
  const auto of_row = static_cast<std::int64_t>(std::min(3 * wanted + 1, 1e9));
  const std::int64_t lists = bytes_of(X.rows, is_exact ? X.rows : std::min(of_row, X.rows), 80);
  return {.work = 2 * X.copy() + X.value_size() + 3 * memory::doubles(X) + X.rows * 2048 + lists,
          .minimum = X.copy() + memory::doubles(X) + lists / 4};
}

template <class T>
NeighborLists TSNE<T>::neighbor_lists(const Context& ctx, const Samples<T>& X) const {
  const std::int64_t n = X.n_rows(), k = std::min<std::int64_t>(n - 1, static_cast<std::int64_t>(3 * params_.perplexity + 1));
  const NeighborMetric metric(params_);
  if (params_.method == "exact") {
    std::vector<double> rows = host_values(ctx, X);
    if (metric.is_cosine) make_unit_rows(kName, rows, X.n_cols());
    return all_others(ctx, rows, n, X.n_cols(), metric);
  }
  require(k <= kMostNeighbors, schema::ErrorCode::kBadData, "{}: perplexity is {}, must be at most 340 with method=\"barnes_hut\"",
          kName, params_.perplexity);
  const bool is_squared = metric.distance.metric == Metric::kEuclidean && !metric.is_cosine;
  NeighborModel<T> model;
  model.fit(ctx, X, params_);
  NeighborLists lists{.n = n, .k = k, .indices = {}, .distances = {}};
  model.nearest(ctx, kName, X, k + 1, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      const auto indices = found.indices_of(i);
      const auto distances = found.distances_of(i);
      const auto self = std::ranges::find(indices, static_cast<std::int32_t>(found.first + i)) - indices.begin();
      for (std::ptrdiff_t e = 0, taken = 0; taken < k; ++e) {
        if (e == self) continue;   // among equal rows it may be anywhere, or not there
        const double distance = distances[static_cast<std::size_t>(e)];
        lists.indices.push_back(indices[static_cast<std::size_t>(e)]);
        lists.distances.push_back(is_squared ? distance * distance : distance), ++taken;
      }
    }
  });
  return lists;
}

template <class T>
std::vector<double> TSNE<T>::start(const Context& ctx, const Samples<T>& X) const {
  const auto n = static_cast<std::size_t>(X.n_rows()), dims = static_cast<std::size_t>(params_.n_components);
  std::vector<double> places;
  if (const auto given = rows_of(params_.init); given && !std::holds_alternative<std::string>(params_.init.data)) {
    require(given->size() == n, schema::ErrorCode::kBadData, "{}: init has {} places, the data {} rows", kName, given->size(), n);
    for (const std::vector<double>& place : *given) places.insert(places.end(), place.begin(), place.end());
  } else if (std::get<std::string>(params_.init.data) == "random") {
    Matrix<double> drawn(ctx.memory(), X.n_rows(), params_.n_components);
    const auto seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
    ctx.ops<double>().rows->fill_normal(seed, 0, drawn.view());
    places = drawn.to_host();
    for (double& x : places) x *= kStartWidth;
  } else {
    PCA<T> pca({{"n_components", params_.n_components}});
    pca.fit(ctx, X, Target{});
    places = host_values(ctx, pca.transform(ctx, X));
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += places[i * dims];
    for (std::size_t i = 0; i < n; ++i) squares += std::pow(places[i * dims] - sum / static_cast<double>(n), 2);
    const double width = std::sqrt(squares / static_cast<double>(n));
    for (double& x : places) x *= width > 0 ? kStartWidth / width : 1;
  }
  return places;
}

template <class T>
void TSNE<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  n_rows_ = X.n_rows(), n_features_ = X.n_cols();
  const auto rows = static_cast<double>(n_rows_);
  require(params_.perplexity < rows, schema::ErrorCode::kBadData, "{}: perplexity is {}, must be less than the {} rows", kName,
          params_.perplexity, n_rows_);
  require(std::get_if<std::string>(&params_.init.data) == nullptr || std::get<std::string>(params_.init.data) != "pca" ||
              params_.n_components <= std::min(n_rows_, n_features_),
          schema::ErrorCode::kBadData, "{}: init \"pca\" needs as many rows and columns as n_components, {}; use \"random\"", kName,
          params_.n_components);
  const auto* const rate = std::get_if<double>(&params_.learning_rate.data);
  learning_rate_ = rate ? *rate : std::max(rows / params_.early_exaggeration / 4, 50.0);

  const std::vector<double> first = start(ctx, X);
  EmbeddedPoints points{.n = n_rows_, .dims = static_cast<int>(std::max<std::int64_t>(2, params_.n_components)), .coordinates = {}};
  points.coordinates.resize(static_cast<std::size_t>(points.dims * n_rows_));
  for (std::size_t e = 0; e < first.size(); ++e)
    points.lane(static_cast<int>(static_cast<std::int64_t>(e) % params_.n_components))[static_cast<std::int64_t>(e) / params_.n_components] = first[e];
  Affinities affinities = joint_probabilities(ctx, neighbor_lists(ctx, X), params_.perplexity);
  if (EmbeddingOps* const ops = embedding_ops(ctx.device); ops && n_rows_ <= kMostDeviceRows) {
    const auto descent =
        ops->descend({affinities.row_begin, affinities.columns, affinities.values}, points.coordinates, points.dims);
    return descend(ctx, *descent);
  }
  with_step_team([&](StepTeam& team) {
    HostDescent descent(ctx, team, std::move(affinities), std::move(points),
                        params_.method == "exact" ? 0 : params_.angle);
    descend(ctx, descent);
  });
}

template <class T>
void TSNE<T>::descend(const Context& ctx, PointDescent& descent) {
  const DescentPhase early{.last = kExploration,
                           .patience = kExploration,
                           .least_gradient = params_.min_grad_norm,
                           .step = {0.5, params_.early_exaggeration, learning_rate_}};
  const DescentPhase late{.last = params_.max_iter,
                          .patience = params_.n_iter_without_progress,
                          .least_gradient = params_.min_grad_norm,
                          .step = {0.8, 1.0, learning_rate_}};
  DescentEnd end = run_phase(ctx, descent, early, 0, params_.max_iter);
  if (end.iteration < kExploration - 1 || params_.max_iter > kExploration)
    end = run_phase(ctx, descent, late, end.iteration + 1, params_.max_iter);
  n_iter_ = end.iteration;
  kl_divergence_ = end.divergence;
  require(std::isfinite(kl_divergence_), schema::ErrorCode::kBadData,
          "{}: the points left the numbers after {} iterations; a learning_rate of {} is too high", kName, n_iter_ + 1,
          learning_rate_);
  const std::vector<double> points = descent.points();
  embedding_.clear();
  for (std::int64_t i = 0; i < n_rows_; ++i)
    for (std::int64_t d = 0; d < params_.n_components; ++d)
      embedding_.push_back(points[static_cast<std::size_t>(d * n_rows_ + i)]);
}

template <class T>
schema::ValueMap TSNE<T>::attributes() const {
  return {{"embedding_", rows_value(embedding_, params_.n_components)},
          {"kl_divergence_", kl_divergence_},
          {"learning_rate_", learning_rate_},
          {"n_iter_", n_iter_}};
}

template <class T>
void TSNE<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_rows", n_rows_, 0, kMaxSize);
  archive.field("embedding", embedding_, n_rows_, params_.n_components);
  archive.field("kl_divergence", kl_divergence_);
  archive.field("learning_rate", learning_rate_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class TSNE<float>;
template class TSNE<double>;

}   // namespace kedge::engine
