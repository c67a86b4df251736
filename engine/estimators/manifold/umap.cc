// UMAP: the neighbours and their fuzzy graph, where places start, and how they move.
#include "engine/estimators/manifold/umap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca.h"
#include "engine/estimators/manifold/affinity_graph.h"
#include "engine/estimators/manifold/fuzzy_set.h"
#include "engine/estimators/manifold/graph_start.h"
#include "engine/estimators/manifold/row_blocks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = UmapParams;
constexpr const char* kName = "UMAP";
constexpr double kSide = 10;                 // of the box in which the places start
constexpr std::int64_t kManyRows = 10'000;   // beyond them, fewer epochs

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("n_neighbors", &P::n_neighbors, between(2, kMostGraphNeighbors),
          "Neighbours that a row is to keep, itself counted.")
        .add("n_components", &P::n_components, between(1, 256), "Dimensions of the embedding.")
        .add("metric", &P::metric,
             {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "infinity", "cosine"},
             "Distance of rows.")
        .add("n_epochs", &P::n_epochs, at_least(1), "Epochs of the layout; null for 500, or 200 beyond 10,000 rows.")
        .add("learning_rate", &P::learning_rate, above(0), "How far places move in the first epoch.")
        .any("init", &P::init, {string_form({"spectral", "random", "pca"}), array_form({array_form()})},
             "Where the places start: eigenvectors of the graph, by chance, pca, or a list of places.")
        .add("min_dist", &P::min_dist, at_least(0), "How near places may lie; at most spread.")
        .add("spread", &P::spread, above(0), "The scale of the places.")
        .add("set_op_mix_ratio", &P::set_op_mix_ratio, between(0, 1),
             "1: an edge that either of its rows has; 0: that both have.")
        .add("local_connectivity", &P::local_connectivity, at_least(0), "How many neighbours count in full.")
        .add("repulsion_strength", &P::repulsion_strength, at_least(0), "Weight of the places by chance.")
        .add("negative_sample_rate", &P::negative_sample_rate, between(0, 1000),
             "Places by chance for each edge that pulls.")
        .add("a", &P::a, above(0), "Of the curve 1 / (1 + a d^2b); null takes it from min_dist and spread.")
        .add("b", &P::b, above(0), "Of the same curve.")
        .random_state(&P::random_state)
        .add("transform_seed", &P::transform_seed, between(0, 4294967295.0), "Seed of the draws for new rows.")
        .ignore("low_memory", true, {boolean_form()})
        .ignore("n_jobs", -1, {integer_form(), null_form()})
        .ignore("verbose", false, {boolean_form(), integer_form()});
    return s;
  }();
  return set;
}

NeighborParams search_of(const P& params) {
  NeighborParams made;
  made.metric = params.metric, made.p.reset();
  return made;
}

// Shares of the edges that pull in fewer than one epoch are 0.
Affinities without_weak_edges(const Affinities& graph, double least) {
  Affinities made{.row_begin = {0}, .columns = {}, .values = {}};
  for (std::int64_t i = 0; i < graph.n_rows(); ++i) {
    for (auto e = static_cast<std::size_t>(graph.row_begin[static_cast<std::size_t>(i)]);
         e < static_cast<std::size_t>(graph.row_begin[static_cast<std::size_t>(i) + 1]); ++e)
      if (graph.values[e] >= least && graph.values[e] > 0)
        made.columns.push_back(graph.columns[e]), made.values.push_back(graph.values[e]);
    made.row_begin.push_back(static_cast<std::int64_t>(made.columns.size()));
  }
  return made;
}

// From 0 to kSide in each dimension.
void fit_into_box(std::vector<double>& places, std::size_t dims) {
  for (std::size_t d = 0; d < dims; ++d) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t e = d; e < places.size(); e += dims)
      low = std::min(low, places[e]), high = std::max(high, places[e]);
    for (std::size_t e = d; e < places.size(); e += dims)
      places[e] = high > low ? kSide * (places[e] - low) / (high - low) : 0;
  }
}

}   // namespace

template <class T>
UMAP<T>::UMAP(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.min_dist > params_.spread)
    refuse_param(kName, "min_dist", params_.min_dist, fmt::format("must be at most spread, {}", params_.spread));
  if (params_.a.has_value() != params_.b.has_value())
    refuse_param(kName, params_.a ? "a" : "b", params_.a ? *params_.a : *params_.b,
                 params_.a ? "b must be set with it" : "a must be set with it");
  if (const auto places = rows_of(params_.init);
      !std::holds_alternative<std::string>(params_.init.data) &&
      (!places || static_cast<std::int64_t>(places->front().size()) != params_.n_components))
    refuse_param(kName, "init", params_.init,
                 fmt::format("must be a list of places of {} numbers", params_.n_components));
}

template <class T>
schema::EstimatorInfo UMAP<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "manifold",
      .doc = "Rows as points of few dimensions that keep their neighbourhoods, as umap-learn has it.",
      .params = param_set().infos(),
      .attributes = {"embedding_", "a_", "b_"},
      .deviations = {
          "Places move all at once in four steps of each epoch, not one after another, so that a seed gives the same places for any number of "
          "threads; draws are Kedge's own.",
          "Neighbours are exact; n_neighbors is at most 1024.",
          "transform: each row finds its place alone, by its strongest neighbour and in 100 epochs or a third of n_epochs; a fitted row keeps its place.",
          "Parts of a graph, where more than 2 n_components, start at the means of their principal components.",
          "Targets, densMAP, other output metrics, inverse_transform, init \"tswspectral\", other metrics than the listed ones and callables are "
          "not implemented.",
          "Without random_state the seed of the job is taken, so that a job repeats."}};
}

template <class T>
MemoryNeed UMAP<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t dims = memory::integer(step, "n_components", 2),
                     k = std::min(X.rows, memory::integer(step, "n_neighbors", 15));
  const std::int64_t edges = bytes_of(X.rows, k, 100), rows = 2 * X.copy() + X.value_size() + memory::doubles(X);
  MemoryNeed need = memory::makes(
      X, dims, rows + edges + sparse_graph_bytes(X.rows, k, dims + 1) + bytes_of(X.rows, 10 * dims, memory::kDouble));
  need.minimum = X.copy();
  return need;
}

template <class T>
Squares UMAP<T>::squares() const {
  return squares_of(search_of(params_));
}

template <class T>
NeighborLists UMAP<T>::lists(const Context& ctx, const Samples<T>& X) const {
  NeighborLists made{.n = X.n_rows(), .k = n_neighbors_, .indices = {}, .distances = {}};
  model_.nearest(ctx, kName, X, n_neighbors_, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      const auto indices = found.indices_of(i);
      const auto distances = found.distances_of(i);
      made.indices.insert(made.indices.end(), indices.begin(), indices.end());
      made.distances.insert(made.distances.end(), distances.begin(), distances.end());
    }
  });
  return made;
}

template <class T>
std::vector<double> UMAP<T>::start(const Context& ctx, const Samples<T>& X, const Affinities& graph,
                                   std::uint64_t seed) const {
  constexpr double kNoise = 1e-4;
  const auto n = static_cast<std::size_t>(X.n_rows()), dims = static_cast<std::size_t>(params_.n_components);
  std::vector<double> places;
  if (const auto given = rows_of(params_.init); given && !std::holds_alternative<std::string>(params_.init.data)) {
    require(given->size() == n, schema::ErrorCode::kBadData, "{}: init has {} places, the data {} rows", kName,
            given->size(), n);
    for (const std::vector<double>& place : *given) places.insert(places.end(), place.begin(), place.end());
    return places;
  }
  const auto principal = [&] {
    PCA<T> pca({{"n_components", params_.n_components}});
    pca.fit(ctx, X, Target{});
    return host_values(ctx, pca.transform(ctx, X));
  };
  const auto by_chance = [&] {
    PhiloxStream random(seed, std::numeric_limits<std::uint64_t>::max());
    std::vector<double> drawn(n * dims);
    for (double& x : drawn) x = kSide * (2 * random.uniform() - 1);
    return drawn;
  };
  const auto& init = std::get<std::string>(params_.init.data);
  if (init == "random" || (init == "spectral" && n <= dims + 1)) return by_chance();
  const bool has_columns = dims <= std::min(n, static_cast<std::size_t>(X.n_cols()));
  const auto rough = [&] { return has_columns ? principal() : by_chance(); };
  require(init != "pca" || has_columns, schema::ErrorCode::kBadData,
          "{}: init \"pca\" needs as many rows and columns as n_components, {}; use \"spectral\"", kName, dims);
  places = init == "pca" ? principal() : places_of_graph(ctx, kName, graph, params_.n_components, seed, rough);
  double largest = 0;
  for (const double x : places) largest = std::max(largest, std::abs(x));
  Matrix<double> noise(ctx.memory(), X.n_rows(), params_.n_components);
  ctx.ops<double>().rows->fill_normal(seed, 0, noise.view());
  const std::vector<double> added = noise.to_host();
  for (std::size_t e = 0; e < places.size(); ++e)
    places[e] = places[e] * (largest > 0 ? kSide / largest : 1) + kNoise * added[e];
  return places;
}

template <class T>
void UMAP<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 3);
  ctx.check_stop();
  const std::int64_t n = X.n_rows();
  n_neighbors_ = std::min(params_.n_neighbors, n - 1);
  if (n_neighbors_ < params_.n_neighbors)
    ctx.warn(
        fmt::format("{}: n_neighbors is {}, and {} is taken for {} rows", kName, params_.n_neighbors, n_neighbors_, n));
  curve_ = params_.a ? NearnessCurve{*params_.a, *params_.b} : nearness_curve(params_.spread, params_.min_dist);
  model_ = NeighborModel<T>();
  model_.fit(ctx, X, search_of(params_));
  const NeighborLists found = lists(ctx, X);
  const double mix = params_.set_op_mix_ratio;
  Affinities graph = with_transpose(found, memberships(ctx, found, params_.local_connectivity, true),
                                    [mix](double a, double b) { return mix * (a + b - a * b) + (1 - mix) * (a * b); });
  const std::int64_t usual = n <= kManyRows ? 500 : 200, epochs = params_.n_epochs.value_or(usual);
  const double largest = graph.values.empty() ? 0 : *std::ranges::max_element(graph.values);
  graph = without_weak_edges(graph, largest / static_cast<double>(epochs > 10 ? epochs : usual));
  const std::uint64_t seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
  std::vector<double> places = start(ctx, X, graph, seed);
  fit_into_box(places, static_cast<std::size_t>(params_.n_components));
  Layout made{.n = n, .dims = params_.n_components, .coordinates = {places.begin(), places.end()}};
  const double loss = edge_loss(graph, curve_, made);
  const std::int64_t left_numbers = move_places(ctx, graph,
                                                {.curve = curve_,
                                                 .learning_rate = params_.learning_rate,
                                                 .repulsion = params_.repulsion_strength,
                                                 .negatives = params_.negative_sample_rate,
                                                 .epochs = epochs,
                                                 .seed = seed},
                                                made);
  require(
      left_numbers == 0, schema::ErrorCode::kBadData,
      "{}: a place is not finite in epoch {} (the loss of the edges was {:.6g} before epoch 1); lower learning_rate, "
      "which is {}",
      kName, left_numbers, loss, params_.learning_rate);
  warn_of_flight(ctx, loss, edge_loss(graph, curve_, made), epochs);
  embedding_ = std::move(made.coordinates);
}

// Places move apart where they began too near to each other; but neighbours that in the mean lie farther from each
// other than the box is wide have lost each other.
template <class T>
void UMAP<T>::warn_of_flight(const Context& ctx, double before, double after, std::int64_t epochs) const {
  const double wide = std::log1p(curve_.a * std::pow(kSide * std::max(1.0, params_.spread), 2 * curve_.b));
  if (after > before && after > wide)
    ctx.warn(
        fmt::format("{}: the loss of the edges rose from {:.6g} before epoch 1 to {:.6g} in epoch {}, because places "
                    "moved farther than their neighbours are; lower learning_rate, which is {}",
                    kName, before, after, epochs, params_.learning_rate));
}

template <class T>
Layout UMAP<T>::layout() const {
  return {.n = model_.n_rows(), .dims = params_.n_components, .coordinates = embedding_};
}

template <class T>
Samples<T> UMAP<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(model_.n_cols()));
  const auto dims = static_cast<std::size_t>(params_.n_components), k = static_cast<std::size_t>(n_neighbors_);
  const NeighborLists found = lists(ctx, X);
  const std::vector<double> weights = memberships(ctx, found, std::max(0.0, params_.local_connectivity - 1), false);
  const Layout fixed = layout();
  constexpr std::int64_t kUsual = 100;
  const std::int64_t epochs = params_.n_epochs ? std::max<std::int64_t>(1, *params_.n_epochs / 3) : kUsual;
  const LayoutMoves moves{.curve = curve_,
                          .learning_rate = params_.learning_rate / 4,
                          .repulsion = params_.repulsion_strength,
                          .negatives = params_.negative_sample_rate,
                          .epochs = epochs,
                          .seed = static_cast<std::uint64_t>(params_.transform_seed)};
  std::vector<T> places(static_cast<std::size_t>(X.n_rows()) * dims);
  for_row_blocks(X.n_rows(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> at(dims);
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      ctx.check_stop();
      const auto first = static_cast<std::ptrdiff_t>(i * k), last = first + static_cast<std::ptrdiff_t>(k);
      const double largest = *std::max_element(weights.begin() + first, weights.begin() + last);
      const double sum = std::accumulate(weights.begin() + first, weights.begin() + last, 0.0);
      std::vector<std::int32_t> neighbors(found.indices.begin() + first, found.indices.begin() + last);
      std::vector<float> shares;
      std::ranges::fill(at, 0.0F);
      for (std::size_t e = 0; e < k; ++e) {
        const double weight = weights[i * k + e], share = weight / largest;
        shares.push_back(share * static_cast<double>(epochs) < 1 ? 0.0F : static_cast<float>(share));
        for (std::size_t d = 0; d < dims; ++d)
          at[d] += static_cast<float>(weight / sum) * embedding_[static_cast<std::size_t>(neighbors[e]) * dims + d];
      }
      if (found.distances[i * k] == 0) {
        const auto own =
            embedding_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(neighbors[0]) * dims);
        std::copy(own, own + static_cast<std::ptrdiff_t>(dims), at.begin());
      } else {
        move_new_place(moves, fixed, neighbors, shares, at.data());
      }
      std::copy(at.begin(), at.end(), places.begin() + static_cast<std::ptrdiff_t>(i * dims));
    }
  });
  return samples_of(Matrix<T>(ctx.memory(), X.n_rows(), params_.n_components, places));
}

template <class T>
schema::ValueMap UMAP<T>::attributes() const {
  return {{"embedding_", rows_value({embedding_.begin(), embedding_.end()}, params_.n_components)},
          {"a_", curve_.a},
          {"b_", curve_.b}};
}

template <class T>
void UMAP<T>::state(StateArchive& archive) {
  model_.state(archive, search_of(params_));
  archive.number("n_neighbors", n_neighbors_, 1, std::min(model_.n_rows(), kMostGraphNeighbors));
  archive.field("embedding", embedding_, model_.n_rows(), params_.n_components);
  archive.field("a", curve_.a);
  archive.field("b", curve_.b);
}

template class UMAP<float>;
template class UMAP<double>;

}   // namespace kedge::engine
