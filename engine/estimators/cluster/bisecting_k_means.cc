// BisectingKMeans: divisions by KMeans' iterations on the device, the tree and the rows of its leaves on the host.
#include "engine/estimators/cluster/bisecting_k_means.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/cluster/memory.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = BisectingKMeansParams;
using Rows = std::vector<std::int32_t>;
constexpr const char* kName = "BisectingKMeans";
constexpr std::int32_t kIsLeaf = -1;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_clusters", &P::n_clusters, between(1, 2147483647.0), "Number of clusters.")
          .add("init", &P::init, {"k-means++", "random"}, "Where the two centres of a division start.")
          .add("n_init", &P::n_init, at_least(1), "Runs of a division from different starts.")
          .random_state(&P::random_state)
          .add("max_iter", &P::max_iter, at_least(1), "Most iterations of a run.")
          .ignore("verbose", 0, {integer_form(), boolean_form()})
          .add("tol", &P::tol, at_least(0), "A run ends when the squared moves of its centres sum up to at most this.")
          .ignore("copy_x", true, {boolean_form()})
          .add("algorithm", &P::algorithm, {"lloyd", "elkan"},
               "Both give the nearest centres exactly; the same code does both.")
          .add("bisecting_strategy", &P::bisecting_strategy, {"biggest_inertia", "largest_cluster"},
               "What is divided next: the cluster with the largest sum of squares, or with most rows.");
  return set;
}

template <class T>
Matrix<T> gathered(const Context& ctx, MatrixView<const T> X, const Rows& rows) {
  const Array<std::int32_t> chosen(ctx.memory(), std::span<const std::int32_t>(rows));
  Matrix<T> out(ctx.memory(), chosen.size(), X.cols);
  ctx.ops<T>().tables->gather(X, chosen.view(), {}, {}, out.view());
  return out;
}

// The weighted sums of squares about each of the two centres.
template <class T>
std::vector<double> inertias(const Context& ctx, MatrixView<const T> X, const std::vector<double>& weights,
                             const KMeansRun<T>& run) {
  const Matrix<T> centers(ctx.memory(), 2, X.cols, run.centers);
  const VectorView<const std::int32_t> labels = run.labels.view();
  const Array<double> shares(ctx.memory(), std::span<const double>(weights));
  Array<double> squared(ctx.memory(), X.rows);
  Matrix<double> sums(ctx.memory(), 2, 2);
  ctx.ops<T>().clusters->squared_to_assigned(X, centers.view(), labels, squared.view());
  ctx.ops<double>().clusters->label_sums(MatrixView<const double>(squared.data(), X.rows, 1), labels, shares.view(),
                                         sums.view());
  const std::vector<double> host = sums.to_host();
  return {host[0], host[2]};
}

}   // namespace

template <class T>
BisectingKMeans<T>::BisectingKMeans(const schema::ValueMap& params) : BisectingKMeans(param_set().parse(params)) {}

template <class T>
BisectingKMeans<T>::BisectingKMeans(const P& params) : CenterClusterer<T>(kName, params.n_clusters), params_(params) {}

template <class T>
schema::EstimatorInfo BisectingKMeans<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters around means, by dividing one in two, again and again.",
          .params = param_set().infos(),
          .attributes = {"cluster_centers_", "labels_", "inertia_"},
          .deviations = {"algorithm \"elkan\" and \"lloyd\" are the same: labels are exact nearest centres in both.",
                         "A cluster of one row is not divided while another has two.",
                         "Without random_state the seed of the job is taken, so that a job repeats.",
                         "Sparse data are made dense, up to 134,217,728 cells."}};
}

template <class T>
MemoryNeed BisectingKMeans<T>::memory(const SampleShape& X, const schema::Step& step) {
  MemoryNeed need = memory::clusters(X, step);
  const std::int64_t k = std::min(X.rows, memory::integer(step, "n_clusters"));
  need.work += X.value_size() + X.rows * 6 * memory::kDouble + bytes_of(k, X.cols, 6 * memory::kDouble);
  return need;
}

// The two parts of a leaf, whose node gets two children.
template <class T>
std::vector<typename BisectingKMeans<T>::Leaf> BisectingKMeans<T>::divide(const Context& ctx, MatrixView<const T> X,
                                                                          const std::vector<double>& weights,
                                                                          LegacyRandom& random, Leaf& leaf) {
  constexpr double kBetter = 1 - 1e-6;
  const Matrix<T> chosen = gathered(ctx, X, leaf.rows);
  std::vector<double> shares;
  if (!weights.empty())
    for (const std::int32_t row : leaf.rows) shares.push_back(weights[static_cast<std::size_t>(row)]);
  std::optional<KMeansRun<T>> best;
  for (std::int64_t i = 0; i < params_.n_init; ++i) {
    std::vector<T> start = initial_centers<T>(ctx, kName, params_.init, chosen.view(), shares, {}, 2, random);
    KMeansRun<T> run = k_means_run<T>(ctx, chosen.view(), shares, std::move(start), params_.max_iter, params_.tol);
    if (!best || run.inertia < best->inertia * kBetter) best = std::move(run);
  }
  const auto first = static_cast<std::int32_t>(children_.size() / 2);
  std::vector<Leaf> parts{{first, 0, {}}, {first + 1, 0, {}}};
  children_[static_cast<std::size_t>(2 * leaf.node)] = first,
                                         children_[static_cast<std::size_t>(2 * leaf.node + 1)] = first + 1;
  children_.insert(children_.end(), {kIsLeaf, 0, kIsLeaf, 0});
  node_centers_.insert(node_centers_.end(), best->centers.begin(), best->centers.end());
  const std::vector<std::int32_t> labels = best->labels.to_host();
  for (std::size_t i = 0; i < leaf.rows.size(); ++i)
    parts[static_cast<std::size_t>(labels[i])].rows.push_back(leaf.rows[i]);
  const bool by_inertia = params_.bisecting_strategy == "biggest_inertia";
  const std::vector<double> squares = by_inertia ? inertias(ctx, chosen.view(), shares, *best) : std::vector<double>();
  for (std::size_t c = 0; c < 2; ++c)
    parts[c].score = by_inertia ? squares[c] : static_cast<double>(parts[c].rows.size());
  return parts;
}

template <class T>
void BisectingKMeans<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  this->require_rows_for_clusters(X);
  const std::vector<double> mean = column_means(ctx, X);
  Matrix<T> scratch;
  const MatrixView<const T> values = X.then(mean, std::vector<double>(mean.size(), 1.0)).values(ctx, scratch);
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  n_features_ = X.n_cols();
  children_ = {kIsLeaf, 0}, node_centers_.assign(static_cast<std::size_t>(n_features_), T{0});
  std::vector<Leaf> leaves(1);   // from left to right
  leaves[0].node = 0, leaves[0].score = 0, leaves[0].rows.resize(static_cast<std::size_t>(X.n_rows()));
  std::iota(leaves[0].rows.begin(), leaves[0].rows.end(), 0);
  while (static_cast<std::int64_t>(leaves.size()) < params_.n_clusters) {
    ctx.check_stop();
    const auto next = std::ranges::max_element(
        leaves, {}, [](const Leaf& leaf) { return std::pair(leaf.rows.size() > 1, leaf.score); });
    std::vector<Leaf> parts = divide(ctx, values, y.weights, random, *next);
    const auto place = next - leaves.begin();
    leaves[static_cast<std::size_t>(place)] = std::move(parts[0]);
    leaves.insert(leaves.begin() + place + 1, std::move(parts[1]));
    ctx.progress("clusters", static_cast<std::int64_t>(leaves.size()), params_.n_clusters, "clusters");
  }
  finish(ctx, values, y.weights, mean, leaves);
}

// Numbers the leaves, and moves their centres back by the mean.
template <class T>
void BisectingKMeans<T>::finish(const Context& ctx, MatrixView<const T> X, const std::vector<double>& weights,
                                const std::vector<double>& mean, const std::vector<Leaf>& leaves) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(X.rows), 0);
  centers_.clear();
  for (std::size_t c = 0; c < leaves.size(); ++c) {
    children_[static_cast<std::size_t>(2 * leaves[c].node + 1)] = static_cast<std::int32_t>(c);
    const auto center = node_centers_.begin() + leaves[c].node * n_features_;
    centers_.insert(centers_.end(), center, center + n_features_);
    for (const std::int32_t row : leaves[c].rows) numbers[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(c);
  }
  const Matrix<T> centers(ctx.memory(), static_cast<std::int64_t>(leaves.size()), n_features_, centers_);
  const Array<std::int32_t> labels(ctx.memory(), std::span<const std::int32_t>(numbers));
  const Array<double> shares(ctx.memory(), std::span<const double>(weights));
  inertia_ = inertia_of(ctx, X, centers.view(), labels.view(), shares.view());
  labels_.set(std::move(numbers));
  for (std::vector<T>* const moved : {&centers_, &node_centers_})
    for (std::size_t i = 0; i < moved->size(); ++i)
      (*moved)[i] = static_cast<T>(static_cast<double>((*moved)[i]) + mean[i % mean.size()]);
}

template <class T>
std::vector<std::int32_t> BisectingKMeans<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  std::vector<std::int32_t> found(static_cast<std::size_t>(X.n_rows()));
  std::vector<std::pair<std::int32_t, Rows>> left(1);   // nodes whose rows are still to be placed
  left[0].second.resize(found.size());
  std::iota(left[0].second.begin(), left[0].second.end(), 0);
  while (!left.empty()) {
    ctx.check_stop();
    const auto [node, rows] = std::move(left.back());
    left.pop_back();
    const std::int32_t first = children_[static_cast<std::size_t>(2 * node)],
                       second = children_[static_cast<std::size_t>(2 * node + 1)];
    if (first == kIsLeaf) {
      for (const std::int32_t row : rows) found[static_cast<std::size_t>(row)] = second;
      continue;
    }
    if (rows.empty()) continue;
    const auto center = node_centers_.begin() + first * n_features_;   // those of the children stand together
    const std::vector<T> centers(center, center + 2 * n_features_);
    const std::vector<std::int32_t> side = nearest_centers(ctx, samples_of(gathered(ctx, values, rows)), centers);
    std::array<Rows, 2> parts;
    for (std::size_t i = 0; i < rows.size(); ++i) parts[static_cast<std::size_t>(side[i])].push_back(rows[i]);
    left.emplace_back(first, std::move(parts[0])), left.emplace_back(second, std::move(parts[1]));
  }
  return found;
}

template <class T>
schema::ValueMap BisectingKMeans<T>::attributes() const {
  return {{"cluster_centers_", rows_value({centers_.begin(), centers_.end()}, n_features_)},
          {"labels_", std::vector<double>(this->labels().begin(), this->labels().end())},
          {"inertia_", inertia_}};
}

// Children come after their parent, two together, so that no walk down the tree can be long.
template <class T>
void BisectingKMeans<T>::state(StateArchive& archive) {
  CenterClusterer<T>::state(archive);
  const std::int64_t nodes = 2 * params_.n_clusters - 1;
  archive.indices("children", children_, 2 * nodes, kIsLeaf, nodes - 1);
  archive.field("node_centers", node_centers_, nodes, n_features_);
  archive.expect_finite("node_centers", node_centers_);
  if (!archive.is_loading()) return;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int32_t first = children_[static_cast<std::size_t>(2 * node)],
                       second = children_[static_cast<std::size_t>(2 * node + 1)];
    if (first == kIsLeaf) archive.expect_in("children", second, 0, params_.n_clusters - 1);
    else archive.expect(first > node && second == first + 1, "children", "has nodes that are not after their parent");
  }
}

template class BisectingKMeans<float>;
template class BisectingKMeans<double>;

}   // namespace kedge::engine
