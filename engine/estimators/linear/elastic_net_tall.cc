// A sample, products with the columns that it names, descent on them, and the gap over all columns.
#include "engine/estimators/linear/elastic_net_tall.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"
#include "engine/estimators/linear/elastic_net.h"
#include "engine/estimators/linear/elastic_net_folds.h"
#include "engine/estimators/linear/tall_products.h"
#include "engine/estimators/own_values.h"
#include "engine/estimators/target.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSampleRows = 2048, kSampleRowsPerColumn = 4;
constexpr std::int64_t kRowsPerSampleRow = 16;   // or the sample costs too much
constexpr std::int64_t kMostColumns = 1000;
constexpr double kSampleTolerance = 1e-3;   // a sample is noisier than this
constexpr double kDoubt = 2;                // standard errors of a slope in the sample within which its column is taken
constexpr double kNear = 0.9;               // of the penalty: slopes from here on come along when others violate it
constexpr double kInnerTolerance = 0.1;     // of what is allowed in all: on few columns passes cost nothing
constexpr int kMostRounds = 50;

using Columns = std::vector<std::int32_t>;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::int64_t sample_rows(std::int64_t n_cols) {
  return std::max(kSampleRows, kSampleRowsPerColumn * n_cols);
}

// Where the sample centres the columns, and which of them may have a coefficient other than 0.
struct Pilot {
  std::vector<double> mean;
  Columns chosen;
};

// Those with a coefficient, and those whose slope at the sample's solution may reach the penalty on all rows.
Columns choose(const TargetGram& gram, const std::vector<double>& coef, const std::vector<double>& spread, double l1) {
  const std::vector<double> G = gram.all.to_host();
  const std::size_t d = coef.size(), p = d + 1;
  const double* const q = G.data() + d * p;
  std::vector<double> slopes(q, q + d);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t k = 0; k < d && coef[j] != 0; ++k) slopes[k] -= coef[j] * G[j * p + k];
  double squared = gram.y_squared;   // of the residual
  for (std::size_t j = 0; j < d; ++j) squared -= coef[j] * (q[j] + slopes[j]);
  const double noise = std::sqrt(std::max(0.0, squared));
  Columns chosen;
  for (std::size_t j = 0; j < d; ++j)
    if (coef[j] != 0 || std::abs(slopes[j]) > l1 - kDoubt * noise * spread[j]) chosen.push_back(static_cast<std::int32_t>(j));
  return chosen;
}

std::vector<double> entries_at(const Context& ctx, MatrixView<const double> column, const Columns& positions) {
  const Array<std::int32_t> rows(ctx.memory(), std::span<const std::int32_t>(positions));
  Matrix<double> some(ctx.memory(), rows.size(), 1);
  ctx.ops<double>().tables->gather(column, rows.view(), {}, {}, some.view());
  return some.to_host();
}

template <class T>
Pilot look_at_sample(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<const double> y,
                     VectorView<const double> weights, bool fit_intercept, const ElasticNetPenalty& penalty,
                     ElasticNetOptions options) {
  const std::int64_t n = X.n_rows(), m = std::min(n, sample_rows(X.n_cols()));
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < m; ++i) positions.push_back(static_cast<std::int32_t>(i * n / m));
  const std::vector<double> values = entries_at(ctx, y, positions);
  std::vector<double> some;
  if (!weights.empty()) some = entries_at(ctx, {weights.data, weights.size, 1}, positions);
  if (std::ranges::none_of(some, [](double w) { return w > 0; })) some.clear();
  const LinearProblem<T> problem(ctx, owner, drawn_rows(ctx, X, positions), values, 1, normalised_weights(some),
                                 fit_intercept, LinearProblem<T>::Moments::kSpread);
  const TargetGram gram = target_gram(ctx, problem);
  const auto rows = static_cast<double>(m);
  options.tol = std::max(options.tol, kSampleTolerance);
  const ElasticNetSolutions solved = solve_elastic_nets(ctx, gram, rows, {penalty.alpha}, penalty.l1_ratio, options);
  return {problem.mean(), choose(gram, solved.coef, problem.spread(), penalty.alpha * penalty.l1_ratio * rows)};
}

// Descent on the columns whose products are there.
template <class T>
class TallDescent {
 public:
  TallDescent(const Context& ctx, TallProducts<T>& products, double l1, double l2, const ElasticNetOptions& options)
      : ctx_(ctx), products_(products), l1_(l1), l2_(l2), options_(options), w_(at(products.n_cols()), 0.0) {}

  void run() {
    look();
    for (int round = 0; round < kMostRounds && n_iter_ < options_.max_iter; ++round) {
      ctx_.check_stop();
      if (!products_.taken().empty()) descend();
      look();
      if (gap_ >= 0 && gap_ <= options_.tol * products_.y_squared()) return;
      const Columns more = violators();
      if (more.empty()) return;
      products_.take(more);
    }
  }
  const std::vector<double>& coef() const { return w_; }
  double gap() const { return gap_; }
  std::int64_t n_iter() const { return n_iter_; }

 private:
  void descend() {
    const Columns& set = products_.taken();
    const TargetGram gram{products_.gram(ctx_), products_.y_squared()};
    std::vector<double> start;
    for (const std::int32_t j : set) start.push_back(w_[at(j)]);
    PathBuffers buffers(ctx_, static_cast<std::int64_t>(set.size()), {1.0}, 0.0, 1.0, start);
    buffers.set_penalty(ctx_, l1_, l2_);
    ElasticNetOptions inner = options_;
    inner.tol = kInnerTolerance * options_.tol, inner.max_iter = options_.max_iter - n_iter_;
    const ElasticNetPath path = buffers.path(gram);
    ctx_.ops<double>().convex->elastic_net_paths({&path, 1}, inner);
    const ElasticNetSolutions solved = buffers.solutions(1.0);
    for (std::size_t i = 0; i < set.size(); ++i) w_[at(set[i])] = solved.coef[i];
    n_iter_ += solved.n_iter[0];
  }

  double size(std::size_t j) const { return options_.positive ? dual_[j] : std::abs(dual_[j]); }

  // The slopes of all columns, and their gap.
  void look() {
    const std::vector<double>& q = products_.with_target();
    dual_ = products_.slopes(w_);
    ElasticNetSums s;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      s.wQw += w_[j] * (q[j] - dual_[j]);
      dual_[j] = elastic_net_dual(dual_[j], w_[j], l1_, l2_);
      s.l1_norm += std::abs(w_[j]), s.squared_norm += w_[j] * w_[j], s.qw += w_[j] * q[j];
      s.dual_norm = j == 0 ? size(j) : std::max(s.dual_norm, size(j));
    }
    gap_ = elastic_net_gap(s, products_.y_squared(), l1_, l2_);
  }

  Columns violators() const {
    Columns near;
    bool is_violated = false;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      if (products_.has(static_cast<std::int32_t>(j)) || size(j) <= kNear * l1_) continue;
      is_violated = is_violated || size(j) > l1_;
      near.push_back(static_cast<std::int32_t>(j));
    }
    return is_violated ? near : Columns{};
  }

  const Context& ctx_;
  TallProducts<T>& products_;
  double l1_, l2_;
  const ElasticNetOptions& options_;
  std::vector<double> w_, dual_;
  double gap_ = 0;
  std::int64_t n_iter_ = 0;
};

}   // namespace

bool takes_sample(std::int64_t n_rows, std::int64_t n_cols, const ElasticNetPenalty& penalty) {
  return penalty.alpha * penalty.l1_ratio > 0 && n_cols > 0 && n_cols <= kMostColumns &&
         n_rows >= kRowsPerSampleRow * sample_rows(n_cols);
}

template <class T>
TallSolution solve_tall_elastic_net(const Context& ctx, const char* owner, const Samples<T>& X,
                                    MatrixView<const double> y, VectorView<const double> weights, bool fit_intercept,
                                    const ElasticNetPenalty& penalty, const ElasticNetOptions& options) {
  require(weights.empty() || weight_sum(ctx, weights) > 0, schema::ErrorCode::kBadData,
          "{}: the sample weights sum to 0, must be more", owner);
  Pilot pilot = look_at_sample(ctx, owner, X, y, weights, fit_intercept, penalty, options);
  TallProducts<T> products(ctx, X, y, weights, fit_intercept, std::move(pilot.mean));
  products.take(pilot.chosen);
  const auto rows = static_cast<double>(X.n_rows());
  TallDescent<T> descent(ctx, products, penalty.alpha * penalty.l1_ratio * rows, penalty.alpha * (1 - penalty.l1_ratio) * rows,
                         options);
  descent.run();
  return {descent.coef(), products.intercept(descent.coef()), descent.gap() / rows, descent.n_iter()};
}

template TallSolution solve_tall_elastic_net(const Context&, const char*, const Samples<float>&,
                                             MatrixView<const double>, VectorView<const double>, bool,
                                             const ElasticNetPenalty&, const ElasticNetOptions&);
template TallSolution solve_tall_elastic_net(const Context&, const char*, const Samples<double>&,
                                             MatrixView<const double>, VectorView<const double>, bool,
                                             const ElasticNetPenalty&, const ElasticNetOptions&);

}   // namespace kedge::engine
