// The epochs of stochastic gradient descent.
#include "engine/estimators/linear/sgd_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/simd.h"
#include "engine/core/stop.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

constexpr double kSparseDecay = 0.01;   // of the intercept's steps where rows are sparse, as scikit-learn has it
constexpr int kLanes = 8;

double loss_of(const SgdOptions& o, double y, double p) {
  const double z = y * p, far = std::abs(y - p) - o.epsilon;
  switch (o.loss) {
    case SgdLoss::kHinge:
      return z <= o.threshold ? o.threshold - z : 0;
    case SgdLoss::kSquaredHinge:
      return z < 1 ? (1 - z) * (1 - z) : 0;
    case SgdLoss::kLog:
      return (p > 0 ? p + std::log1p(std::exp(-p)) : std::log1p(std::exp(p))) - y * p;
    case SgdLoss::kModifiedHuber:
      return z >= 1 ? 0 : z >= -1 ? (1 - z) * (1 - z) : -4 * z;
    case SgdLoss::kSquared:
      return (p - y) * (p - y) / 2;
    case SgdLoss::kHuber:
      return far <= 0 ? (y - p) * (y - p) / 2 : o.epsilon * (far + o.epsilon / 2);
    case SgdLoss::kTube:
      return std::max(far, 0.0);
    case SgdLoss::kSquaredTube:
      return far > 0 ? far * far : 0;
  }
  return 0;
}

double slope_of(const SgdOptions& o, double y, double p) {
  const double z = y * p, r = y - p;
  switch (o.loss) {
    case SgdLoss::kHinge:
      return z <= o.threshold ? -y : 0;
    case SgdLoss::kSquaredHinge:
      return z < 1 ? -2 * y * (1 - z) : 0;
    case SgdLoss::kLog:
      return p > -37 ? ((1 - y) - y * std::exp(-p)) / (1 + std::exp(-p)) : std::exp(p) - y;
    case SgdLoss::kModifiedHuber:
      return z >= 1 ? 0 : z >= -1 ? -2 * y * (1 - z) : -4 * y;
    case SgdLoss::kSquared:
      return p - y;
    case SgdLoss::kHuber:
      return std::abs(r) <= o.epsilon ? -r : r > 0 ? -o.epsilon : o.epsilon;
    case SgdLoss::kTube:
      return r > o.epsilon ? -1 : r < -o.epsilon ? 1 : 0;
    case SgdLoss::kSquaredTube:
      return r > o.epsilon ? -2 * (r - o.epsilon) : r < -o.epsilon ? 2 * (-r - o.epsilon) : 0;
  }
  return 0;
}

KEDGE_CLONES double dense_dot(const double* x, const double* w, std::int64_t n) {
  double lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += x[j + l] * w[j + l];
  double sum = 0;
  for (; j < n; ++j) sum += x[j] * w[j];
  for (const double lane : lanes) sum += lane;
  return sum;
}

// w += c x; the sums of the squares and of the sizes of the new w.
KEDGE_CLONES void dense_add(const double* x, double c, std::int64_t n, double* __restrict w, double& squares,
                            double& sizes) {
  double two[kLanes] = {}, one[kLanes] = {};
  std::int64_t j = 0;
  squares = 0, sizes = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const double v = w[j + l] + x[j + l] * c;
      w[j + l] = v;
      two[l] += v * v, one[l] += v < 0 ? -v : v;
    }
  }
  for (; j < n; ++j) w[j] += x[j] * c, squares += w[j] * w[j], sizes += std::abs(w[j]);
  for (int l = 0; l < kLanes; ++l) squares += two[l], sizes += one[l];
}

// One row: where its values are, and their columns where it is sparse.
struct Row {
  const double* x;
  const std::int32_t* columns;
  std::int64_t size;
};

// A vector as a scale times numbers, and its running average.
class ScaledVector {
 public:
  ScaledVector(std::int64_t n, bool is_averaged)
      : w_(static_cast<std::size_t>(n), 0.0), average_(is_averaged ? w_.size() : 0, 0.0) {}

  double dot(const Row& row) const {
    if (!row.columns) return scale_ * dense_dot(row.x, w_.data(), row.size);
    double sum = 0;
    for (std::int64_t e = 0; e < row.size; ++e) sum += w_[at(row, e)] * row.x[e];
    return scale_ * sum;
  }
  void add(const Row& row, double c) {
    double squares = 0, sizes = 0;
    c /= scale_;
    if (!row.columns) dense_add(row.x, c, row.size, w_.data(), squares, sizes);
    for (std::int64_t e = 0; row.columns && e < row.size; ++e) {
      double& w = w_[at(row, e)];
      w += row.x[e] * c, squares += w * w, sizes += std::abs(w);
    }
    squares_ = squares * scale_ * scale_, sizes_ = sizes * scale_;   // of the row's columns alone, as scikit-learn
  }
  void scale(double c) {
    scale_ *= c, squares_ *= c * c, sizes_ *= std::abs(c);
    if (scale_ < 1e-9) settle();
  }
  void add_to_average(const Row& row, double c, double count) {
    for (std::int64_t e = 0; e < row.size; ++e) average_[at(row, e)] += a_ * row.x[e] * (-c / scale_);
    if (count > 1) b_ /= 1 - 1 / count;
    a_ += b_ * scale_ / count;
  }
  // Cumulative L1 with a limit `u` for each column, of which q was applied.
  void shrink(const Row& row, double u, std::vector<double>& q) {
    for (std::int64_t e = 0; e < row.size; ++e) {
      const std::size_t j = at(row, e);
      const double before = w_[j];
      if (scale_ * before > 0) w_[j] = std::max(0.0, before - (u + q[j]) / scale_);
      else if (scale_ * before < 0) w_[j] = std::min(0.0, before + (u - q[j]) / scale_);
      q[j] += scale_ * (w_[j] - before);
    }
  }
  void settle() {
    for (std::size_t j = 0; j < average_.size(); ++j) average_[j] = (average_[j] + a_ * w_[j]) / b_;
    a_ = 0, b_ = 1;
    for (double& w : w_) w *= scale_;
    scale_ = 1;
  }
  double penalty(double l1_ratio) const { return (1 - l1_ratio) * 0.5 * squares_ + l1_ratio * sizes_; }
  bool is_finite() const {
    return std::ranges::all_of(w_, [](double w) { return std::isfinite(w); });
  }
  const std::vector<double>& values() const { return w_; }
  const std::vector<double>& average() const { return average_; }

 private:
  static std::size_t at(const Row& row, std::int64_t e) {
    return static_cast<std::size_t>(row.columns ? row.columns[e] : e);
  }

  std::vector<double> w_, average_;
  double scale_ = 1, squares_ = 0, sizes_ = 0, a_ = 0, b_ = 1;
};

// scikit-learn's order: Fisher and Yates' shuffle by a 32-bit xorshift that begins anew each epoch.
void shuffle(std::vector<std::int32_t>& order, std::uint32_t seed) {
  if (seed == 0) seed = 1;
  const auto n = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
    std::swap(order[i], order[i + (seed % 0x80000000u) % (n - i)]);
  }
}

class Descent {
 public:
  Descent(const SgdRows& X, std::span<const double> y, std::span<const double> weights, double positive_weight,
          double negative_weight, const SgdOptions& options)
      : X_(X),
        y_(y),
        weights_(weights),
        positive_(positive_weight),
        negative_(negative_weight),
        o_(options),
        w_(X.n_cols, options.average > 0),
        q_(options.has_penalty && options.l1_ratio > 0 ? static_cast<std::size_t>(X.n_cols) : 0, 0.0),
        eta_(options.eta0) {
    if (o_.rate == SgdRate::kOptimal) {
      const double typical = std::sqrt(1 / std::sqrt(o_.alpha));
      start_ = 1 / (typical / std::max(1.0, slope_of(o_, 1.0, -typical)) * o_.alpha);
    }
  }

  // All rows once, in this order; the mean of the objective on the way.
  double epoch(const std::vector<std::int32_t>& order) {
    double sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % 4096 == 0) check_job_stop();
      if (i + 1 < order.size()) __builtin_prefetch(row(order[i + 1]).x);
      sum += step(order[i]);
    }
    return sum / static_cast<double>(order.size());
  }
  bool is_finite() const { return std::isfinite(intercept_) && w_.is_finite(); }
  // The mean loss of all rows before the first step.
  double first_loss() const {
    double sum = 0;
    for (const double y : y_) sum += loss_of(o_, y, 0);
    return sum / static_cast<double>(y_.size());
  }
  // Whether a smaller constant rate is left to try.
  bool lower_rate() {
    if (o_.rate != SgdRate::kAdaptive || !(eta_ > 1e-6)) return false;
    eta_ /= 5;
    return true;
  }
  // The coefficients, once their steps are done.
  SgdLine line() {
    w_.settle();
    const bool is_averaged = o_.average > 0 && static_cast<double>(o_.average) <= t_ - 1;
    SgdLine made{.coef = is_averaged ? w_.average() : w_.values(),
                 .intercept = is_averaged ? average_intercept_ : intercept_};
    made.is_finite =
        std::isfinite(made.intercept) && std::ranges::all_of(made.coef, [](double c) { return std::isfinite(c); });
    return made;
  }

 private:
  Row row(std::int32_t i) const {
    if (!X_.is_sparse()) return {X_.values.data() + i * X_.n_cols, nullptr, X_.n_cols};
    const std::int64_t first = X_.offsets[static_cast<std::size_t>(i)];
    return {X_.values.data() + first, X_.columns.data() + first, X_.offsets[static_cast<std::size_t>(i) + 1] - first};
  }
  bool is_passive() const { return o_.rate == SgdRate::kPassive || o_.rate == SgdRate::kPassiveSquared; }

  double passive_update(const Row& row, double y, double p, double loss) const {
    double norm = 0;
    for (std::int64_t e = 0; e < row.size; ++e) norm += row.x[e] * row.x[e];
    double update = o_.rate == SgdRate::kPassive ? std::min(o_.eta0, loss / norm) : loss / (norm + 0.5 / o_.eta0);
    if (norm == 0 && o_.rate == SgdRate::kPassive)
      return std::numeric_limits<double>::quiet_NaN();   // the row is passed over
    if (o_.loss == SgdLoss::kHinge) update *= y;
    else if (y - p < 0) update = -update;
    return update;
  }

  double step(std::int32_t i) {
    constexpr double kSteepest = 1e12;
    const Row row = this->row(i);
    const double y = y_[static_cast<std::size_t>(i)], p = w_.dot(row) + intercept_, loss = loss_of(o_, y, p);
    if (o_.rate == SgdRate::kOptimal) eta_ = 1 / (o_.alpha * (start_ + t_ - 1));
    if (o_.rate == SgdRate::kInverse) eta_ = o_.eta0 / std::pow(t_, o_.power_t);
    const double objective = loss + (o_.has_penalty && !is_passive() ? o_.alpha * w_.penalty(o_.l1_ratio) : 0.0);
    double update =
        is_passive() ? passive_update(row, y, p, loss) : -eta_ * std::clamp(slope_of(o_, y, p), -kSteepest, kSteepest);
    if (std::isnan(update) && is_passive()) return objective;
    update *= (y > 0 ? positive_ : negative_) * (weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(i)]);
    if (o_.has_penalty) w_.scale(std::max(0.0, 1 - (1 - o_.l1_ratio) * eta_ * o_.alpha));
    if (update != 0) w_.add(row, update);
    if (o_.fit_intercept) intercept_ += update * (X_.is_sparse() ? kSparseDecay : 1.0);
    if (o_.average > 0 && static_cast<double>(o_.average) <= t_) {
      const double count = t_ - static_cast<double>(o_.average) + 1;
      w_.add_to_average(row, update, count);
      average_intercept_ += (intercept_ - average_intercept_) / count;
    }
    if (!q_.empty()) u_ += o_.l1_ratio * eta_ * o_.alpha, w_.shrink(row, u_, q_);
    t_ += 1;
    return objective;
  }

  const SgdRows& X_;
  std::span<const double> y_, weights_;
  double positive_, negative_;
  const SgdOptions& o_;
  ScaledVector w_;
  std::vector<double> q_;
  double eta_, start_ = 0, t_ = 1, u_ = 0, intercept_ = 0, average_intercept_ = 0;
};

}   // namespace

template <class T>
SgdRows sgd_rows(const Context& ctx, const Samples<T>& X) {
  SgdRows rows{.n_rows = X.n_rows(), .n_cols = X.n_cols()};
  if (!X.is_sparse()) {
    rows.values = host_values(ctx, X);
    return rows;
  }
  const SparseRows<T> kept(ctx, X);
  const CsrView<const T> view = kept.view();
  std::vector<T> values(static_cast<std::size_t>(view.n_entries()));
  rows.offsets.resize(static_cast<std::size_t>(view.rows) + 1), rows.columns.resize(values.size());
  ctx.memory().to_host(rows.offsets.data(), view.offsets.data, rows.offsets.size() * sizeof(std::int64_t));
  if (!values.empty()) {
    ctx.memory().to_host(rows.columns.data(), view.columns.data, values.size() * sizeof(std::int32_t));
    ctx.memory().to_host(values.data(), view.values.data, values.size() * sizeof(T));
  }
  rows.values.assign(values.begin(), values.end());
  return rows;
}

SgdLine run_sgd(const SgdRows& X, std::span<const double> y, std::span<const double> weights, double positive_weight,
                double negative_weight, const SgdOptions& options, std::uint32_t seed,
                const std::function<void(std::int64_t)>& on_epoch) {
  Descent descent(X, y, weights, positive_weight, negative_weight, options);
  std::vector<std::int32_t> order(static_cast<std::size_t>(X.n_rows));
  std::iota(order.begin(), order.end(), 0);
  const double first_loss = descent.first_loss();
  double best = std::numeric_limits<double>::infinity(), loss = first_loss;
  std::int64_t idle = 0, epochs = 0;
  bool is_finite = true;
  while (epochs < options.max_iter) {
    if (options.shuffle) shuffle(order, seed);
    const double objective = descent.epoch(order);
    on_epoch(++epochs);
    is_finite = std::isfinite(objective) && descent.is_finite();
    if (!is_finite) break;
    loss = objective;
    idle = objective > best - options.tol ? idle + 1 : 0;
    best = std::min(best, objective);
    if (idle < options.n_iter_no_change) continue;
    if (!descent.lower_rate()) break;
    idle = 0;
  }
  SgdLine line = descent.line();
  line.n_iter = epochs, line.is_finite = line.is_finite && is_finite, line.first_loss = first_loss, line.loss = loss;
  return line;
}

template SgdRows sgd_rows(const Context&, const Samples<float>&);
template SgdRows sgd_rows(const Context&, const Samples<double>&);

}   // namespace kedge::engine
