// MiniBatchKMeans: batches are drawn and centres moved on the host, distances found on the device.
#include "engine/estimators/cluster/mini_batch_k_means.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/cluster_centers.h"

namespace kedge::engine {
namespace {

using P = MiniBatchKMeansParams;
constexpr const char* kName = "MiniBatchKMeans";
constexpr std::int64_t kRandomRuns = 3;   // n_init="auto" with init="random"

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_clusters", &P::n_clusters, between(1, 2147483647.0), "Number of clusters.")
          .any("init", &P::init, center_init_forms(),
               "Where centres start: k-means++ (greedy), random rows, or the centres, one row each.")
          .add("max_iter", &P::max_iter, at_least(1), "Most passes over as many rows as there are.")
          .add("batch_size", &P::batch_size, at_least(1), "Rows of a batch.")
          .ignore("verbose", 0, {integer_form(), boolean_form()})
          .add("compute_labels", &P::compute_labels, "Label all rows at the end.")
          .random_state(&P::random_state)
          .add("tol", &P::tol, at_least(0),
               "Ends when the centres move less, squared, relative to the mean variance of the columns; 0: never.")
          .add("max_no_improvement", &P::max_no_improvement, at_least(0),
               "Ends after so many batches without a better smoothed inertia; null: never.")
          .add("init_size", &P::init_size, at_least(1), "Rows that starts are chosen from; null: 3 batches.")
          .any("n_init", &P::n_init, n_init_forms(),
               "Number of starts, of which the best is kept; auto: 3 with init=\"random\", otherwise 1.")
          .add("reassignment_ratio", &P::reassignment_ratio, at_least(0),
               "Clusters lighter than this share of the heaviest start anew.");
  return set;
}

// Rows of X drawn by index, on the device.
template <class T>
class Draw {
 public:
  Draw(const Context& ctx, MatrixView<const T> X, std::int64_t count) : ctx_(ctx), X_(X), rows_(ctx.memory(), count), values_(ctx.memory(), count, X.cols) {}
  MatrixView<const T> rows(const std::vector<std::int32_t>& indices) {
    ctx_.memory().to_device(rows_.data(), indices.data(), indices.size() * sizeof(std::int32_t));
    ctx_.ops<T>().tables->gather(X_, std::as_const(rows_).view(), {}, {}, values_.view());
    return std::as_const(values_).view();
  }

 private:
  const Context& ctx_;
  MatrixView<const T> X_;
  Array<std::int32_t> rows_;
  Matrix<T> values_;
};

std::vector<std::int32_t> uniform_rows(LegacyRandom& random, std::int64_t n, std::int64_t count) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
  for (std::int32_t& row : rows) row = static_cast<std::int32_t>(random.interval(static_cast<std::uint64_t>(n - 1)));
  return rows;
}

std::vector<double> weights_at(const std::vector<double>& weights, const std::vector<std::int32_t>& rows) {
  std::vector<double> chosen;
  for (const std::int32_t row : rows)
    if (!weights.empty()) chosen.push_back(weights[static_cast<std::size_t>(row)]);
  return chosen;
}

// Labels of rows by centres, and their inertia.
template <class T>
class Labeller {
 public:
  Labeller(const Context& ctx, std::int64_t rows, std::int64_t k, std::int64_t d) : ctx_(ctx), labels_(ctx.memory(), rows), centers_(ctx.memory(), k, d) {
    labels_.zero();
  }
  double label(MatrixView<const T> X, const std::vector<T>& centers, std::span<const double> weights) {
    ctx_.memory().to_device(centers_.data(), centers.data(), centers.size() * sizeof(T));
    ctx_.ops<T>().clusters->assign_nearest(X, std::as_const(centers_).view(), labels_.view());
    return inertia_of(ctx_, X, std::as_const(centers_).view(), std::as_const(labels_).view(),
                      Array<double>(ctx_.memory(), weights).view());
  }
  const Array<std::int32_t>& labels() const { return labels_; }
  Array<std::int32_t> take_labels() { return std::move(labels_); }

 private:
  const Context& ctx_;
  Array<std::int32_t> labels_;
  Matrix<T> centers_;
};

// Whether the smoothed inertia of the batches still falls.
struct Progress {
  std::optional<double> smoothed, least;
  std::int64_t without = 0;

  bool has_ended(const P& params, std::int64_t step, double batch, double n, double inertia, double tol, double moved) {
    inertia /= batch;
    if (step == 0) return false;   // comes from the start
    const double alpha = std::min(1.0, batch * 2.0 / (n + 1));
    smoothed = smoothed ? *smoothed * (1 - alpha) + inertia * alpha : inertia;
    if (tol > 0 && moved <= tol) return true;
    if (!least || *smoothed < *least) without = 0, least = smoothed;
    else ++without;
    return params.max_no_improvement && without >= *params.max_no_improvement;
  }
};

template <class T>
class Steps {
 public:
  Steps(const Context& ctx, const P& params, MatrixView<const T> X, std::vector<T> start, LegacyRandom& random)
      : ctx_(ctx), params_(params), random_(random), batch_(std::min(params.batch_size, X.rows)), centers_(std::move(start)),
        counts_(static_cast<std::size_t>(params.n_clusters), 0.0), draw_(ctx, X, batch_), labeller_(ctx, batch_, params.n_clusters, X.cols),
        sums_(ctx.memory(), params.n_clusters, X.cols + 1) {}

  // One batch; its inertia before the centres moved.
  double step(const CumulatedWeights& shares) {
    since_ += batch_;
    const bool reassigns = std::find(counts_.begin(), counts_.end(), 0.0) != counts_.end() || since_ >= 10 * params_.n_clusters;
    if (reassigns) since_ = 0;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(batch_));
    for (std::int32_t& row : rows) row = static_cast<std::int32_t>(shares.at(random_.uniform()));
    const MatrixView<const T> values = draw_.rows(rows);
    const double inertia = labeller_.label(values, centers_, {});
    before_ = centers_;
    move(values);
    if (reassigns && params_.reassignment_ratio > 0) reassign(values);
    return inertia;
  }
  double moved() const {
    double total = 0;
    for (std::size_t i = 0; i < centers_.size(); ++i) total += squared_difference(centers_[i], before_[i]);
    return total;
  }
  std::int64_t batch() const { return batch_; }
  std::vector<T>& centers() { return centers_; }

 private:
  void move(MatrixView<const T> values) {
    ctx_.ops<T>().clusters->label_sums(values, labeller_.labels().view(), {}, sums_.view());
    const std::vector<double> sums = sums_.to_host();
    const auto d = static_cast<std::size_t>(values.cols);
    for (std::size_t c = 0; c < counts_.size(); ++c) {
      const double* const sum = sums.data() + c * (d + 1);
      if (sum[d] == 0) continue;
      for (std::size_t j = 0; j < d; ++j)
        centers_[c * d + j] = static_cast<T>((static_cast<double>(centers_[c * d + j]) * counts_[c] + sum[j]) / (counts_[c] + sum[d]));
      counts_[c] += sum[d];
    }
  }

  // Light clusters start anew at rows of the batch, at most half as many as it has.
  void reassign(MatrixView<const T> values) {
    const double heaviest = *std::max_element(counts_.begin(), counts_.end());
    std::vector<std::size_t> light(counts_.size());
    std::iota(light.begin(), light.end(), std::size_t{0});
    std::stable_sort(light.begin(), light.end(), [&](std::size_t a, std::size_t b) { return counts_[a] < counts_[b]; });
    const auto end = std::find_if(light.begin(), light.end(), [&](std::size_t c) { return counts_[c] >= params_.reassignment_ratio * heaviest; });
    const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(end - light.begin()), static_cast<std::size_t>(batch_ / 2));
    if (count == 0 || count == light.size()) return;
    const double least_kept = counts_[light[count]];
    light.resize(count);
    std::sort(light.begin(), light.end());
    const std::vector<std::int64_t> rows = random_.permutation(batch_);
    for (std::size_t e = 0; e < count; ++e) {
      ctx_.memory().to_host(centers_.data() + light[e] * static_cast<std::size_t>(values.cols), values.data + rows[e] * values.stride,
                            static_cast<std::size_t>(values.cols) * sizeof(T));
      counts_[light[e]] = least_kept;
    }
  }

  const Context& ctx_;
  const P& params_;
  LegacyRandom& random_;
  std::int64_t batch_, since_ = 0;
  std::vector<T> centers_, before_;
  std::vector<double> counts_;
  Draw<T> draw_;
  Labeller<T> labeller_;
  Matrix<double> sums_;
};

// The best of n_init starts, each from its own draw of rows, by the inertia of one more draw.
template <class T>
std::vector<T> best_start(const Context& ctx, const P& params, MatrixView<const T> X, const std::vector<double>& weights, LegacyRandom& random) {
  const std::int64_t n = X.rows, k = params.n_clusters, batch = std::min(params.batch_size, n);
  std::int64_t size = params.init_size.value_or(3 * batch);
  if (size < k) size = 3 * k;
  size = std::min(size, n);
  Draw<T> draw(ctx, X, size), valid_draw(ctx, X, size);
  const std::vector<std::int32_t> valid = uniform_rows(random, n, size);
  const std::vector<double> valid_weights = weights_at(weights, valid);
  const MatrixView<const T> valid_rows = valid_draw.rows(valid);
  Labeller<T> labeller(ctx, size, k, X.cols);
  std::vector<T> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t i = runs_of(params.n_init, params.init, kRandomRuns); i > 0; --i) {
    ctx.check_stop();
    const std::vector<std::int32_t> rows = size < n ? uniform_rows(random, n, size) : std::vector<std::int32_t>{};
    const std::vector<double> chosen = size < n ? weights_at(weights, rows) : weights;
    std::vector<T> start = initial_centers<T>(ctx, kName, params.init, size < n ? draw.rows(rows) : X, chosen, {}, k, random);
    const double inertia = labeller.label(valid_rows, start, valid_weights);
    if (best.empty() || inertia < least) best = std::move(start), least = inertia;
  }
  return best;
}

}  // namespace

template <class T>
MiniBatchKMeans<T>::MiniBatchKMeans(const schema::ValueMap& params) : MiniBatchKMeans(param_set().parse(params)) {}

template <class T>
MiniBatchKMeans<T>::MiniBatchKMeans(const MiniBatchKMeansParams& params) : CenterClusterer<T>(kName, params.n_clusters), params_(params) {
  check_center_init(kName, params_.init, params_.n_clusters);
}

template <class T>
schema::EstimatorInfo MiniBatchKMeans<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters around means, moved by small random batches.",
          .params = param_set().infos(),
          .attributes = {"cluster_centers_", "labels_", "inertia_", "n_iter_", "n_steps_"},
          .deviations = {"Without random_state the seed of the job is taken, so that a job repeats."}};
}

template <class T>
void MiniBatchKMeans<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  this->require_rows_for_clusters(X);
  double tol = 0;
  if (params_.tol > 0) {
    const std::vector<double> variance = column_moments(ctx, X).variance;
    tol = params_.tol * std::accumulate(variance.begin(), variance.end(), 0.0) / static_cast<double>(variance.size());
  }
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  const std::int64_t n = X.n_rows();
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  Steps<T> steps(ctx, params_, values, best_start<T>(ctx, params_, values, y.weights, random), random);
  const std::vector<double> ones(y.weights.empty() ? static_cast<std::size_t>(n) : 0, 1.0);
  const CumulatedWeights shares(y.weights.empty() ? ones : y.weights);
  Progress progress;
  const std::int64_t most = params_.max_iter * n / steps.batch();
  for (n_steps_ = 0; n_steps_ < most;) {
    ctx.check_stop();
    const double inertia = steps.step(shares);
    if (progress.has_ended(params_, n_steps_++, static_cast<double>(steps.batch()), static_cast<double>(n), inertia, tol, tol > 0 ? steps.moved() : 0)) break;
  }
  centers_ = std::move(steps.centers());
  n_features_ = X.n_cols();
  n_iter_ = (n_steps_ * steps.batch() + n - 1) / n;
  labels_.set(std::vector<std::int32_t>());
  inertia_ = progress.smoothed.value_or(0) * (y.weights.empty() ? static_cast<double>(n) : std::accumulate(y.weights.begin(), y.weights.end(), 0.0));
  if (!params_.compute_labels) return;
  Labeller<T> labeller(ctx, n, params_.n_clusters, n_features_);
  inertia_ = labeller.label(values, centers_, y.weights);
  labels_.set(labeller.take_labels());
}

template <class T>
schema::ValueMap MiniBatchKMeans<T>::attributes() const {
  schema::ValueMap all = CenterClusterer<T>::attributes();
  all.emplace_back("n_steps_", n_steps_);
  return all;
}

template <class T>
void MiniBatchKMeans<T>::state(StateArchive& archive) {
  CenterClusterer<T>::state(archive);
  archive.number("n_steps", n_steps_, 0, kMaxSize);
}

template class MiniBatchKMeans<float>;
template class MiniBatchKMeans<double>;

}  // namespace kedge::engine
