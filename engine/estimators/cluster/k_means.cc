// KMeans: Lloyd's iterations on the device, centres on the host.
#include "engine/estimators/cluster/k_means.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/bytes.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/dealt_sums.h"
#include "engine/estimators/own_values.h"

namespace kedge::engine {
namespace {

using P = KMeansParams;
constexpr const char* kName = "KMeans";
constexpr std::int64_t kRandomRuns = 10;   // n_init="auto" with init="random"

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_clusters", &P::n_clusters, between(1, 2147483647.0), "Number of clusters.")
          .any("init", &P::init, center_init_forms(), "Where centres start: k-means++ (greedy), random rows, or the centres, one row each.")
          .any("n_init", &P::n_init, n_init_forms(), "Runs from different starts; auto: 10 with init=\"random\", else 1.")
          .add("max_iter", &P::max_iter, at_least(1), "Most iterations of a run.")
          .add("tol", &P::tol, at_least(0), "A run ends when the centres move less, squared, relative to the mean variance of the columns.")
          .ignore("verbose", 0, {integer_form(), boolean_form()})
          .random_state(&P::random_state)
          .ignore("copy_x", true, {boolean_form()})
          .add("algorithm", &P::algorithm, {"lloyd", "elkan"}, "Both give the nearest centres exactly; the same code does both.");
  return set;
}

// One run: the data, and the buffers of its iterations.
template <class T>
class Lloyd {
 public:
  Lloyd(const Context& ctx, MatrixView<const T> X, std::span<const double> weights, std::int64_t k)
      : ctx_(ctx),
        X_(X),
        k_(k),
        weights_host_(weights),
        weights_(ctx.memory(), weights),
        centers_(ctx.memory(), k, X.cols),
        sums_(ctx.memory(), k, X.cols + 1) {}

  KMeansRun<T> run(std::vector<T> start, std::int64_t max_iter, double tol) {
    KMeansRun<T> result{.centers = std::move(start)};
    labels_ = Array<std::int32_t>(ctx_.memory(), X_.rows);
    const auto rows = ctx_.ops<T>().clusters->follow_centers(X_, weights_.view(), labels_.view());
    bool settled = false;   // labels fit the centres
    for (result.n_iter = 0; !settled && result.n_iter < max_iter;) {
      ctx_.check_stop();
      ctx_.progress("iterations", ++result.n_iter, max_iter, "iterations");
      settled = assign(*rows, result.centers) == 0;
      const std::vector<T> before = std::exchange(result.centers, means(*rows, result.centers));
      if (!settled && shift(before, result.centers) <= tol) break;
    }
    if (!settled) assign(*rows, result.centers);
    else upload(result.centers);
    result.inertia =
        inertia_of(ctx_, X_, std::as_const(centers_).view(), std::as_const(labels_).view(), weights_.view());
    result.labels = std::move(labels_);
    return result;
  }

 private:
  void upload(const std::vector<T>& centers) { ctx_.memory().to_device(centers_.data(), centers.data(), centers.size() * sizeof(T)); }
  std::int64_t assign(MovingCenters<T>& rows, const std::vector<T>& centers) {
    upload(centers);
    return rows.assign(std::as_const(centers_).view());
  }
  static double shift(const std::vector<T>& a, const std::vector<T>& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += squared_difference(a[i], b[i]);
    return total;
  }

  std::vector<T> means(MovingCenters<T>& rows, const std::vector<T>& centers) {
    rows.sum(sums_.view());
    std::vector<double> sums = sums_.to_host();
    const auto d = static_cast<std::size_t>(X_.cols), cols = d + 1;
    for (std::size_t c = 0; c < static_cast<std::size_t>(k_); ++c)
      if (sums[c * cols + d] == 0) {
        relocate(sums);
        break;
      }
    std::size_t heaviest = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(k_); ++c)
      if (sums[c * cols + d] > sums[heaviest * cols + d]) heaviest = c;
    std::vector<T> means(centers.size());
    for (std::size_t c = 0; c < static_cast<std::size_t>(k_); ++c) {
      const double* const from = sums.data() + (sums[c * cols + d] > 0 ? c : heaviest) * cols;   // empty: where most are
      for (std::size_t j = 0; j < d; ++j) means[c * d + j] = static_cast<T>(from[j] / from[d]);
    }
    return means;
  }

  static constexpr std::size_t kKept = 4096;   // rows beyond those that are wanted, until they are sorted
  struct Far {
    double distance;
    std::int64_t row;
    std::int64_t label;
  };

  // The rows that are farthest from their centres, of equals the last ones first. Ranks bring those of their own rows.
  std::vector<Far> farthest(std::size_t count) {
    const auto keep = [&](std::vector<Far>& far) {
      const auto end = far.begin() + static_cast<std::ptrdiff_t>(std::min(count, far.size()));
      std::partial_sort(far.begin(), end, far.end(), [](const Far& a, const Far& b) {
        return a.distance > b.distance || (a.distance == b.distance && a.row > b.row);
      });
      far.erase(end, far.end());
    };
    Ranks* const ranks = ranks_of_rows_on(ctx_.device, X_.rows);
    const auto find_own = [&] {
      const Part own = own_rows(ranks, X_.rows);
      Array<double> squared(ctx_.memory(), own.size());
      const VectorView<const std::int32_t> labels = std::as_const(labels_).view().slice(own.begin, own.size());
      ctx_.ops<T>().clusters->squared_to_assigned(X_.row_range(own.begin, own.size()), std::as_const(centers_).view(),
                                                  labels, squared.view());
      const std::vector<double> distances = squared.to_host();
      std::vector<std::int32_t> of_rows(distances.size());
      if (!of_rows.empty()) ctx_.memory().to_host(of_rows.data(), labels.data, of_rows.size() * sizeof(std::int32_t));
      std::vector<Far> far;
      for (std::size_t i = 0; i < distances.size(); ++i) {
        far.push_back({distances[i], own.begin + static_cast<std::int64_t>(i), of_rows[i]});
        if (far.size() >= 2 * count + kKept) keep(far);
      }
      keep(far);
      return far;
    };
    if (!ranks) return find_own();
    const PartedBytes shares = ranks->share([&] {
      ByteWriter out;
      for (const Far& one : find_own()) out.number(one.distance), out.number(one.row), out.number(one.label);
      return out.take();
    });
    std::vector<Far> all;
    for (ByteReader in(shares.bytes); !in.at_end();) {
      Far& one = all.emplace_back();
      one.distance = in.number<double>(), one.row = in.number<std::int64_t>(), one.label = in.number<std::int64_t>();
    }
    keep(all);
    return all;
  }

  // Empty clusters get the rows that are farthest from their centres, as in scikit-learn.
  void relocate(std::vector<double>& sums) {
    const auto d = static_cast<std::size_t>(X_.cols), cols = d + 1;
    std::vector<std::size_t> empty;
    for (std::size_t c = 0; c < static_cast<std::size_t>(k_); ++c)
      if (sums[c * cols + d] == 0) empty.push_back(c);
    const std::vector<Far> far = farthest(empty.size());
    if (far.front().distance == 0) return;   // more clusters than different rows
    std::vector<T> row(d);
    for (std::size_t e = 0; e < empty.size(); ++e) {
      ctx_.memory().to_host(row.data(), X_.data + far[e].row * X_.stride, d * sizeof(T));
      const double weight = weights_host_.empty() ? 1.0 : weights_host_[static_cast<std::size_t>(far[e].row)];
      double *const to = sums.data() + empty[e] * cols, *const from =
                                                            sums.data() + static_cast<std::size_t>(far[e].label) * cols;
      for (std::size_t j = 0; j < cols; ++j) {
        const double share = j < d ? weight * static_cast<double>(row[j]) : weight;
        to[j] = share, from[j] -= share;
      }
    }
  }

  const Context& ctx_;
  MatrixView<const T> X_;
  std::int64_t k_;
  std::span<const double> weights_host_;
  Array<double> weights_;
  Matrix<T> centers_;
  Matrix<double> sums_;
  Array<std::int32_t> labels_;
};

// How many of k labels occur.
std::int64_t different_labels(const Context& ctx, const Array<std::int32_t>& labels, std::int64_t k) {
  Array<std::int64_t> counts(ctx.memory(), k);
  ctx.ops<double>().categories->count_codes(labels.view(), counts.view());
  return std::ranges::count_if(counts.to_host(), [](std::int64_t count) { return count > 0; });
}

// Whether two labellings differ only in the names of the clusters.
bool same_clustering(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b, std::int64_t k) {
  std::vector<std::int32_t> names(static_cast<std::size_t>(k), -1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int32_t& name = names[static_cast<std::size_t>(a[i])];
    if (name < 0) name = b[i];
    else if (name != b[i]) return false;
  }
  return true;
}

// The run of the smallest inertia, on rows less their means.
template <class T>
KMeansRun<T> best_run(const Context& ctx, MatrixView<const T> values, const Moments& moments,
                      const std::vector<double>& weights, const P& params, LegacyRandom& random) {
  const double variance = std::accumulate(moments.variance.begin(), moments.variance.end(), 0.0) /
                          static_cast<double>(moments.variance.size());
  Lloyd<T> lloyd(ctx, values, weights, params.n_clusters);
  std::optional<KMeansRun<T>> best;
  const std::int64_t runs = runs_of(params.n_init, params.init, kRandomRuns);
  for (std::int64_t i = 0; i < runs; ++i) {
    std::vector<T> start =
        initial_centers<T>(ctx, kName, params.init, values, weights, moments.mean, params.n_clusters, random);
    KMeansRun<T> run = lloyd.run(std::move(start), params.max_iter, params.tol * variance);
    if (best && !(run.inertia < best->inertia)) continue;
    give_labels(ctx, run.labels);
    if (!best || !same_clustering(run.labels.to_host(), best->labels.to_host(), params.n_clusters))
      best = std::move(run);
  }
  return std::move(*best);
}

}  // namespace

template <class T>
KMeans<T>::KMeans(const schema::ValueMap& params) : KMeans(param_set().parse(params)) {}

template <class T>
KMeans<T>::KMeans(const KMeansParams& params) : CenterClusterer<T>(kName, params.n_clusters), params_(params) {
  check_center_init(kName, params_.init, params_.n_clusters);
}

template <class T>
schema::EstimatorInfo KMeans<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters around means, from k-means++ starts.",
          .params = param_set().infos(),
          .attributes = {"cluster_centers_", "labels_", "inertia_", "n_iter_"},
          .deviations = {"algorithm \"elkan\" and \"lloyd\" are the same: labels are exact nearest centres in both.",
                         "Without random_state the seed of the job is taken, so that a job repeats."}};
}

template <class T>
void KMeans<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  this->require_rows_for_clusters(X);
  const Moments moments = column_moments(ctx, X);
  const Samples<T> centred = X.then(moments.mean, std::vector<double>(moments.mean.size(), 1.0));
  const OwnValues<T> values(ctx, centred);
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  KMeansRun<T> best = best_run<T>(ctx, values.view(), moments, y.weights, params_, random);
  const std::int64_t found = different_labels(ctx, best.labels, params_.n_clusters);
  labels_.set(std::move(best.labels));
  centers_ = std::move(best.centers), inertia_ = best.inertia, n_iter_ = best.n_iter;
  n_features_ = X.n_cols();
  for (std::size_t i = 0; i < centers_.size(); ++i)
    centers_[i] = static_cast<T>(static_cast<double>(centers_[i]) + moments.mean[i % moments.mean.size()]);
  if (found < params_.n_clusters)
    ctx.warn(fmt::format("{}: found {} different clusters, n_clusters is {}; rows may be equal", kName, found,
                         params_.n_clusters));
}

template <class T>
KMeansRun<T> k_means_run(const Context& ctx, MatrixView<const T> X, std::span<const double> weights,
                         std::vector<T> start, std::int64_t max_iter, double tol) {
  const auto k = static_cast<std::int64_t>(start.size()) / X.cols;
  KMeansRun<T> run = Lloyd<T>(ctx, X, weights, k).run(std::move(start), max_iter, tol);
  give_labels(ctx, run.labels);
  return run;
}

template <class T>
std::vector<std::int32_t> k_means_labels(const Context& ctx, MatrixView<const T> X, std::int64_t n_clusters,
                                         LegacyRandom& random, std::int64_t n_init) {
  Array<double> mean(ctx.memory(), X.cols), variance(ctx.memory(), X.cols);
  ctx.ops<T>().tables->column_moments(X, {}, {}, mean.view(), variance.view());
  const Moments moments{.mean = mean.to_host(), .variance = variance.to_host()};
  return best_run<T>(ctx, X, moments, {}, {.n_clusters = n_clusters, .n_init = n_init}, random).labels.to_host();
}

template KMeansRun<float> k_means_run(const Context&, MatrixView<const float>, std::span<const double>,
                                      std::vector<float>, std::int64_t, double);
template KMeansRun<double> k_means_run(const Context&, MatrixView<const double>, std::span<const double>,
                                       std::vector<double>, std::int64_t, double);
template std::vector<std::int32_t> k_means_labels(const Context&, MatrixView<const double>, std::int64_t, LegacyRandom&,
                                                  std::int64_t);
template class KMeans<float>;
template class KMeans<double>;

}  // namespace kedge::engine
