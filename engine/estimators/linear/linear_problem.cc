// Builds the design of a linear model from samples, and evaluates fitted ones.
#include "engine/estimators/linear/linear_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/estimators/checks.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 4096;
constexpr std::int64_t kMostKept = std::int64_t{1} << 23;   // values of rows kept for the candidates of a search: 64 MB
constexpr std::size_t kRowsBetweenStops = 1024;
constexpr double kConstant =
    4 * std::numeric_limits<double>::epsilon();   // of the mean: the spread of a constant through rounding

std::vector<double> square_roots(const std::vector<double>& weights) {
  std::vector<double> roots(weights.size());
  std::transform(weights.begin(), weights.end(), roots.begin(), [](double w) { return std::sqrt(w); });
  return roots;
}

}   // namespace

template <class T>
LinearProblem<T>::LinearProblem(const Context& ctx, const char* owner, const Samples<T>& X, std::span<const double> Y,
                                std::int64_t n_targets, const std::vector<double>& weights, bool fit_intercept)
    : X_(X), n_rows_(X.n_rows()), n_cols_(X.n_cols()), n_targets_(n_targets) {
  ctx.check_stop();
  require_rows(owner, X);
  double total = 0;
  for (const double w : weights) total += w;
  require(weights.empty() || total > 0, schema::ErrorCode::kBadData, "{}: the sample weights sum to 0, must be more", owner);
  const auto n = static_cast<std::size_t>(n_cols_);
  const Array<double> device_weights(ctx.memory(), std::span<const double>(weights));
  Array<double> mean(ctx.memory(), n_cols_), variance(ctx.memory(), n_cols_);
  ctx.ops<T>().tables->column_moments(std::as_const(X.table->X).view(), X.row_view(), device_weights.view(),
                                      mean.view(), variance.view());
  const std::vector<double> table_mean = mean.to_host(), table_variance = variance.to_host();
  std::vector<double> shift = X.is_affine() ? X.shift : std::vector<double>(n, 0.0);
  scale_ = X.is_affine() ? X.scale : std::vector<double>(n, 1.0);
  mean_.assign(n, 0.0), spread_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double mapped = (table_mean[j] - shift[j]) * scale_[j];
    spread_[j] = std::hypot(std::sqrt(table_variance[j]) * scale_[j], fit_intercept ? 0.0 : mapped);
    if (fit_intercept && std::sqrt(table_variance[j]) <= kConstant * std::abs(table_mean[j])) spread_[j] = 0;
    if (fit_intercept) mean_[j] = mapped, shift[j] = table_mean[j];
  }
  device_shift_ = Array<double>(ctx.memory(), std::span<const double>(shift));
  device_scale_ = Array<double>(ctx.memory(), std::span<const double>(scale_));
  device_weights_ = Array<double>(ctx.memory(), std::span<const double>(square_roots(weights)));
  centre_targets(ctx, Y, weights, fit_intercept);
  device_targets_ = Matrix<double>(ctx.memory(), n_rows_, n_targets_, unweighted_);
}

template <class T>
void LinearProblem<T>::centre_targets(const Context& ctx, std::span<const double> Y, const std::vector<double>& weights,
                                      bool fit_intercept) {
  const auto n = static_cast<std::size_t>(n_rows_), k = static_cast<std::size_t>(n_targets_);
  const auto each_row = [&](auto&& body) {   // targets may be as many as classes: gigabytes
    for (std::size_t i = 0; i < n; ++i) {
      if (i % kRowsBetweenStops == 0) ctx.check_stop();
      body(i, Y.data() + i * k);
    }
  };
  y_mean_.assign(k, 0.0);
  if (fit_intercept) {
    std::vector<long double> sums(k, 0.0L);
    long double total = 0;
    each_row([&](std::size_t i, const double* y) {
      const long double w = weights.empty() ? 1.0 : weights[i];
      for (std::size_t t = 0; t < k; ++t) sums[t] += w * static_cast<long double>(y[t]);
      total += w;
    });
    for (std::size_t t = 0; t < k; ++t) y_mean_[t] = static_cast<double>(sums[t] / total);
  }
  unweighted_.clear(), targets_.clear();
  unweighted_.reserve(n * k), targets_.reserve(n * k);
  each_row([&](std::size_t i, const double* y) {
    const double root = weights.empty() ? 1.0 : std::sqrt(weights[i]);
    for (std::size_t t = 0; t < k; ++t) {
      unweighted_.push_back(y[t] - y_mean_[t]);
      targets_.push_back(unweighted_.back() * root);
    }
  });
}

template <class T>
void LinearProblem<T>::scale_columns(const Context& ctx, const std::vector<double>& factors) {
  for (std::size_t j = 0; j < scale_.size(); ++j) scale_[j] *= factors[j];
  device_scale_ = Array<double>(ctx.memory(), std::span<const double>(scale_));
}

template <class T>
Design<T> LinearProblem<T>::design() const {
  return {.X = std::as_const(X_.table->X).view(),
          .rows = X_.row_view(),
          .shift = device_shift_.view(),
          .scale = device_scale_.view(),
          .weights = device_weights_.view(),
          .Y = device_targets_.view()};
}

template <class T>
Matrix<double> LinearProblem<T>::gram(const Context& ctx) const {
  Matrix<double> G(ctx.memory(), n_cols_ + n_targets_, n_cols_ + n_targets_);
  ctx.ops<T>().design->gram(design(), G.view());
  return G;
}

template <class T>
Matrix<double> LinearProblem<T>::triangle(const Context& ctx) const {
  Matrix<double> R(ctx.memory(), n_cols_ + n_targets_, n_cols_ + n_targets_);
  ctx.ops<T>().design->triangle(design(), R.view());
  return R;
}

// Products with one row or column start from 0, not from what the result holds: such products read X in place.
template <class T>
std::vector<double> LinearProblem<T>::slopes(const Context& ctx, std::span<const double> coef) const {
  Design<T> without = design();
  without.Y = {};
  const std::int64_t most = std::min(n_rows_, kBlockRows), blocks = (n_rows_ + kBlockRows - 1) / kBlockRows;
  Matrix<double> block(ctx.memory(), most, n_cols_), fitted(ctx.memory(), most, 1), sums(ctx.memory(), blocks, n_cols_);
  std::vector<double> first;
  for (std::int64_t i = 0; i < n_rows_; ++i) first.push_back(targets_[static_cast<std::size_t>(i * n_targets_)]);
  Matrix<double> y(ctx.memory(), n_rows_, 1, first);   // becomes the residual, block by block
  const Matrix<double> w(ctx.memory(), coef.empty() ? 0 : 1, n_cols_, coef), one(ctx.memory(), 1, 1, std::vector<double>{1.0});
  Backend<double>& ops = ctx.ops<double>();
  for (std::int64_t b = 0, i = 0; b < blocks; ++b, i += kBlockRows) {
    ctx.check_stop();
    const MatrixView<double> rows = block.view().row_range(0, std::min(kBlockRows, n_rows_ - i)),
                             part = y.view().row_range(i, rows.rows);
    ctx.ops<T>().design->gather(without, i, rows);
    if (!coef.empty()) {
      ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, w.view(), 0.0,
                       fitted.view().row_range(0, rows.rows));
      ops.linear->gemm(Transpose::kNo, Transpose::kNo, -1.0, fitted.view().row_range(0, rows.rows), one.view(), 1.0,
                       part);
    }
    ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, part, rows, 0.0, sums.view().row_range(b, 1));
  }
  Array<double> total(ctx.memory(), n_cols_);
  ops.rows->column_sums(std::as_const(sums).view(), total.view());
  return total.to_host();
}

template <class T>
Matrix<double> LinearProblem<T>::rows(const Context& ctx) const {
  Matrix<double> out(ctx.memory(), n_rows_, n_cols_);
  Design<T> without = design();
  without.Y = {};
  ctx.ops<T>().design->gather(without, 0, out.view());
  return out;
}

template <class T>
std::vector<double> LinearProblem<T>::intercepts(std::span<const double> coef) const {
  std::vector<double> result;
  for (std::int64_t t = 0; t < n_targets_; ++t) {
    long double value = y_mean_[static_cast<std::size_t>(t)];
    for (std::int64_t j = 0; j < n_cols_; ++j)
      value -= static_cast<long double>(mean_[static_cast<std::size_t>(j)]) *
               static_cast<long double>(coef[static_cast<std::size_t>(t * n_cols_ + j)]);
    result.push_back(static_cast<double>(value));
  }
  return result;
}

template <class T>
Matrix<double> sample_rows(const Context& ctx, const Samples<T>& X) {
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)),
      scale(ctx.memory(), std::span<const double>(X.scale));
  Matrix<double> out(ctx.memory(), X.n_rows(), X.n_cols());
  ctx.ops<T>().design->gather(
      {.X = std::as_const(X.table->X).view(), .rows = X.row_view(), .shift = shift.view(), .scale = scale.view()}, 0,
      out.view());
  return out;
}

namespace {

template <class T>
Matrix<double> sparse_values(const Context& ctx, const Samples<T>& X, std::span<const double> coef, std::span<const double> intercept) {
  const auto k = intercept.size(), d = static_cast<std::size_t>(X.n_cols());
  std::vector<double> by_column(coef.size());
  for (std::size_t e = 0; e < coef.size(); ++e) by_column[e % d * k + e / d] = coef[e];
  const SparseRows<T> rows(ctx, X);
  Matrix<double> values = product(ctx, rows.view(), by_column, static_cast<std::int64_t>(k));
  ctx.ops<double>().rows->add_to_rows(Array<double>(ctx.memory(), intercept).view(), values.view());
  return values;
}

}   // namespace

template <class T>
Matrix<double> linear_values(const Context& ctx, const Samples<T>& X, std::span<const double> coef,
                             std::span<const double> intercept) {
  const auto targets = static_cast<std::int64_t>(intercept.size());
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  if (X.is_sparse()) return sparse_values(ctx, X, coef, intercept);
  const Matrix<double> W(ctx.memory(), targets, d, coef);
  const Array<double> b(ctx.memory(), intercept);
  Matrix<double> values(ctx.memory(), n, targets);
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)),
      scale(ctx.memory(), std::span<const double>(X.scale));
  const Design<T> design{
      .X = std::as_const(X.table->X).view(), .rows = X.row_view(), .shift = shift.view(), .scale = scale.view()};
  std::shared_ptr<Matrix<double>> kept;   // other candidates of a search will read the same rows
  if (ctx.work && !X.content.empty() && n * d <= kMostKept)
    kept = ctx.work->get<Matrix<double>>("double rows", X.content, [&] { return sample_rows(ctx, X); });
  Matrix<double> block(ctx.memory(), kept ? 0 : std::min(n, kBlockRows), d);
  for (std::int64_t first = 0; first < n; first += kBlockRows) {
    ctx.check_stop();
    const std::int64_t count = std::min(kBlockRows, n - first);
    const MatrixView<double> rows = kept ? kept->view().row_range(first, count) : block.view().row_range(0, count);
    if (!kept) ctx.ops<T>().design->gather(design, first, rows);
    ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, W.view(), 0.0,
                                   values.view().row_range(first, count));
  }
  ctx.ops<double>().rows->add_to_rows(b.view(), values.view());
  return values;
}

template class LinearProblem<float>;
template class LinearProblem<double>;
template Matrix<double> sample_rows(const Context&, const Samples<float>&);
template Matrix<double> sample_rows(const Context&, const Samples<double>&);
template Matrix<double> linear_values(const Context&, const Samples<float>&, std::span<const double>, std::span<const double>);
template Matrix<double> linear_values(const Context&, const Samples<double>&, std::span<const double>, std::span<const double>);

}   // namespace kedge::engine
