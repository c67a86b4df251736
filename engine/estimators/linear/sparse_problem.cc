// Products with a centred, weighted design that stays sparse, and conjugate gradients on them.
#include "engine/estimators/linear/sparse_problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockCells = std::int64_t{1} << 22;  // of columns made dense at a time: 32 MiB
constexpr double kRounding = 1e-14;  // of the first gradient: where steps gain no more
constexpr int kPatience = 50;        // steps without a smaller gradient

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// a += factor * b
void add(std::vector<double>& a, double factor, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
}

}  // namespace

template <class T>
SparseProblem<T>::SparseProblem(const Context& ctx, const char* owner, const Samples<T>& X,
                                std::span<const double> Y, std::int64_t n_targets,
                                const std::vector<double>& weights, bool fit_intercept)
    : rows_(ctx, X), columns_(transposed(ctx, rows_.view())), n_targets_(n_targets) {
  ctx.check_stop();
  require_rows(owner, X);
  const double total = weights.empty() ? static_cast<double>(X.n_rows())
                                       : std::accumulate(weights.begin(), weights.end(), 0.0);
  require(total > 0, schema::ErrorCode::kBadData, "{}: the sample weights sum to 0, must be more", owner);
  const Array<double> device_weights(ctx.memory(), std::span<const double>(weights));
  Array<double> mean(ctx.memory(), n_cols()), variance(ctx.memory(), n_cols());
  ctx.ops<T>().sparse->moments(std::as_const(columns_).view(), device_weights.view(), mean.view(), variance.view());
  const std::vector<double> m = mean.to_host(), v = variance.to_host();
  for (std::size_t j = 0; j < m.size(); ++j)
    squared_norms_.push_back(total * (v[j] + (fit_intercept ? 0.0 : m[j] * m[j])));
  mean_ = fit_intercept ? m : std::vector<double>(m.size(), 0.0);
  for (const double w : weights) roots_.push_back(std::sqrt(w));
  centre_targets(Y, weights, fit_intercept);
}

template <class T>
void SparseProblem<T>::centre_targets(std::span<const double> Y, const std::vector<double>& weights,
                                      bool fit_intercept) {
  y_mean_.assign(static_cast<std::size_t>(n_targets_), 0.0);
  targets_.assign(Y.begin(), Y.end());
  for (std::int64_t t = 0; t < n_targets_; ++t) {
    long double sum = 0, total = 0;
    for (std::int64_t i = 0; i < n_rows() && fit_intercept; ++i) {
      const long double w = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)];
      sum += w * static_cast<long double>(Y[static_cast<std::size_t>(i * n_targets_ + t)]), total += w;
    }
    const double mean = fit_intercept ? static_cast<double>(sum / total) : 0.0;
    y_mean_[static_cast<std::size_t>(t)] = mean;
    for (std::int64_t i = 0; i < n_rows(); ++i) {
      double& y = targets_[static_cast<std::size_t>(i * n_targets_ + t)];
      y = (y - mean) * (roots_.empty() ? 1.0 : roots_[static_cast<std::size_t>(i)]);
    }
  }
}

template <class T>
std::vector<double> SparseProblem<T>::target(std::int64_t t) const {
  std::vector<double> y;
  for (std::int64_t i = 0; i < n_rows(); ++i)
    y.push_back(targets_[static_cast<std::size_t>(i * n_targets_ + t)]);
  return y;
}

template <class T>
std::vector<double> SparseProblem<T>::times(const Context& ctx, const std::vector<double>& v) const {
  std::vector<double> u = product(ctx, rows_.view(), v, 1).to_host();
  const double offset = dot(mean_, v);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = (u[i] - offset) * (roots_.empty() ? 1.0 : roots_[i]);
  return u;
}

template <class T>
std::vector<double> SparseProblem<T>::transpose_times(const Context& ctx,
                                                      const std::vector<double>& u) const {
  std::vector<double> weighted = u;
  for (std::size_t i = 0; i < roots_.size(); ++i) weighted[i] *= roots_[i];
  std::vector<double> v = product(ctx, std::as_const(columns_).view(), weighted, 1).to_host();
  add(v, -std::accumulate(weighted.begin(), weighted.end(), 0.0), mean_);
  return v;
}

// The chosen columns are made dense in blocks of rows, whose Gram matrices are added up.
template <class T>
std::vector<double> SparseProblem<T>::gram(const Context& ctx, const std::vector<std::int32_t>& columns,
                                           const std::vector<double>& y) const {
  const auto m = static_cast<std::int64_t>(columns.size()), p = m + 1;
  const Array<std::int32_t> taken(ctx.memory(), std::span<const std::int32_t>(columns));
  const CsrMatrix<T> chosen = taken_rows(ctx, columns_.view(), taken.view());
  const CsrMatrix<T> rows = transposed(ctx, chosen.view());
  std::vector<double> shift, total(static_cast<std::size_t>(p * p), 0.0);
  for (const std::int32_t j : columns) shift.push_back(mean_[static_cast<std::size_t>(j)]);
  std::vector<double> unweighted = y;
  for (std::size_t i = 0; i < roots_.size(); ++i) unweighted[i] = roots_[i] > 0 ? y[i] / roots_[i] : 0.0;
  const Array<double> device_shift(ctx.memory(), std::span<const double>(shift)),
      device_roots(ctx.memory(), std::span<const double>(roots_));
  const Matrix<double> device_y(ctx.memory(), n_rows(), 1, unweighted);
  const std::int64_t most = std::clamp<std::int64_t>(kBlockCells / m, 1, n_rows());
  Matrix<T> block(ctx.memory(), most, m);
  Matrix<double> G(ctx.memory(), p, p);
  for (std::int64_t first = 0; first < n_rows(); first += most) {
    ctx.check_stop();
    CsrView<const T> part = rows.view();
    part.rows = std::min(most, n_rows() - first), part.offsets = part.offsets.slice(first, part.rows + 1);
    const MatrixView<T> dense = block.view().row_range(0, part.rows);
    ctx.ops<T>().sparse->to_dense(part, {}, {}, {}, dense);
    ctx.ops<T>().design->gram(
        {.X = dense,
         .shift = device_shift.view(),
         .weights = roots_.empty() ? VectorView<const double>() : device_roots.view().slice(first, part.rows),
         .Y = device_y.view().row_range(first, part.rows)},
        G.view());
    add(total, 1.0, G.to_host());
  }
  return total;
}

template <class T>
std::vector<double> SparseProblem<T>::intercepts(std::span<const double> coef) const {
  std::vector<double> result;
  for (std::int64_t t = 0; t < n_targets_; ++t) {
    long double value = y_mean_[static_cast<std::size_t>(t)];
    for (std::int64_t j = 0; j < n_cols(); ++j)
      value -= static_cast<long double>(mean_[static_cast<std::size_t>(j)]) *
               static_cast<long double>(coef[static_cast<std::size_t>(t * n_cols() + j)]);
    result.push_back(static_cast<double>(value));
  }
  return result;
}

namespace {

// One target. With a penalty the unknowns are scaled so that columns of any size count equally; without one
// they are not, because the solution of least norm is wanted.
template <class T>
std::vector<double> conjugate_gradients(const Context& ctx, const char* owner,
                                        const SparseProblem<T>& problem, std::int64_t t, double alpha) {
  const auto d = static_cast<std::size_t>(problem.n_cols());
  std::vector<double> scale(d, 1.0), residual = problem.target(t), z(d, 0.0);
  for (std::size_t j = 0; j < d && alpha > 0; ++j)
    scale[j] = 1 / std::sqrt(problem.squared_norms()[j] + alpha);
  const auto scaled = [&](std::vector<double> v) {
    for (std::size_t j = 0; j < d; ++j) v[j] *= scale[j];
    return v;
  };
  // The gradient in z of half the objective, less its sign: S D'r - alpha S^2 z.
  const auto gradient = [&] {
    std::vector<double> g = problem.transpose_times(ctx, residual);
    for (std::size_t j = 0; j < d; ++j) g[j] = scale[j] * (g[j] - alpha * scale[j] * z[j]);
    return g;
  };
  std::vector<double> g = gradient(), direction = g, best = z;
  double size = dot(g, g), least = size;
  const double first = size;
  const std::int64_t most = 20 * std::min(problem.n_rows(), problem.n_cols()) + 1000;
  std::int64_t step = 0, since = 0;
  for (; step < most && size > kRounding * kRounding * first && since < kPatience; ++step, ++since) {
    ctx.check_stop();
    const std::vector<double> moved = scaled(direction), image = problem.times(ctx, moved);
    const double curvature = dot(image, image) + alpha * dot(moved, moved);
    if (!(curvature > 0)) break;
    const double length = size / curvature;
    add(z, length, direction), add(residual, -length, image);
    g = gradient();
    const double next = dot(g, g);
    for (std::size_t j = 0; j < d; ++j) direction[j] = g[j] + next / size * direction[j];
    size = next;
    if (size < least) least = size, since = 0, best = z;
  }
  if (step == most)
    ctx.warn(fmt::format(
        "{}: stopped after {} steps of conjugate gradients; scale the columns or raise alpha", owner, most));
  return scaled(std::move(best));
}

}  // namespace

template <class T>
std::vector<double> solve_sparse_least_squares(const Context& ctx, const char* owner,
                                               const SparseProblem<T>& problem,
                                               const std::vector<double>& alphas) {
  require(alphas.size() == 1 || static_cast<std::int64_t>(alphas.size()) == problem.n_targets(),
          schema::ErrorCode::kBadData,
          "{}: alpha has {} numbers, must have 1 or one for each of the {} targets", owner, alphas.size(),
          problem.n_targets());
  std::vector<double> coef;
  for (std::int64_t t = 0; t < problem.n_targets(); ++t) {
    const double alpha = alphas[alphas.size() == 1 ? 0 : static_cast<std::size_t>(t)];
    const std::vector<double> one = conjugate_gradients(ctx, owner, problem, t, alpha);
    coef.insert(coef.end(), one.begin(), one.end());
  }
  return coef;
}

template class SparseProblem<float>;
template class SparseProblem<double>;
template std::vector<double> solve_sparse_least_squares(const Context&, const char*,
                                                        const SparseProblem<float>&,
                                                        const std::vector<double>&);
template std::vector<double> solve_sparse_least_squares(const Context&, const char*,
                                                        const SparseProblem<double>&,
                                                        const std::vector<double>&);

}  // namespace kedge::engine
