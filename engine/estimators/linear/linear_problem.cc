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
constexpr double kConstant =
    4 * std::numeric_limits<double>::epsilon();   // of the mean: the spread of a constant through rounding

}   // namespace

template <class T>
LinearProblem<T>::LinearProblem(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<const double> Y,
                                VectorView<const double> weights, bool fit_intercept, Moments moments)
    : X_(X), n_rows_(X.n_rows()), n_cols_(X.n_cols()), n_targets_(Y.cols) {
  ctx.check_stop();
  require_rows(owner, X);
  const auto n = static_cast<std::size_t>(n_cols_), k = static_cast<std::size_t>(n_targets_);
  device_targets_ = Matrix<double>(ctx.memory(), n_rows_, n_targets_);
  const bool spreads = moments == Moments::kSpread;
  Array<double> found(ctx.memory(), 2 * n_cols_ + n_targets_ + 1);   // fetched at once: waits cost more than bytes
  const VectorView<double> mean = found.view().slice(0, n_cols_), variance = found.view().slice(n_cols_, n_cols_),
                           y_mean = found.view().slice(2 * n_cols_, n_targets_);
  found.zero();
  ctx.ops<T>().tables->column_moments(std::as_const(X.table->X).view(), X.row_view(), weights, mean,
                                      spreads ? variance : VectorView<double>());
  if (fit_intercept || !weights.empty())
    ctx.ops<double>().rows->precise_means(Y, weights, y_mean, found.view().slice(2 * n_cols_ + n_targets_, 1));
  const std::vector<double> host = found.to_host(), table_mean(host.begin(), host.begin() + n_cols_),
                            table_variance(host.begin() + n_cols_, host.begin() + 2 * n_cols_);
  require(weights.empty() || host.back() > 0, schema::ErrorCode::kBadData,
          "{}: the sample weights sum to 0, must be more", owner);
  y_mean_.assign(k, 0.0);
  if (fit_intercept) {
    y_mean_.assign(host.begin() + 2 * n_cols_, host.end() - 1);
    ctx.ops<double>().maps->combine(Binary::kSubtract, Y, {y_mean.data, 1, n_targets_}, device_targets_.view());
  } else {
    ctx.ops<double>().tables->gather(Y, {}, {}, {}, device_targets_.view());
  }
  std::vector<double> shift = X.is_affine() ? X.shift : std::vector<double>(n, 0.0);
  scale_ = X.is_affine() ? X.scale : std::vector<double>(n, 1.0);
  mean_.assign(n, 0.0), spread_.resize(spreads ? n : 0);
  for (std::size_t j = 0; j < n; ++j) {
    const double mapped = (table_mean[j] - shift[j]) * scale_[j];
    if (spreads) {
      const double deviation = std::sqrt(table_variance[j]);
      spread_[j] = std::hypot(deviation * scale_[j], fit_intercept ? 0.0 : mapped);
      if (fit_intercept && deviation <= kConstant * std::abs(table_mean[j])) spread_[j] = 0;
    }
    if (fit_intercept) mean_[j] = mapped, shift[j] = table_mean[j];
  }
  device_shift_ = Array<double>(ctx.memory(), std::span<const double>(shift));
  device_scale_ = Array<double>(ctx.memory(), std::span<const double>(scale_));
  device_weights_ = Array<double>(ctx.memory(), weights.size);
  ctx.ops<double>().maps->map(Unary::kSqrt, 1, {weights.data, weights.size, 1},
                              {device_weights_.data(), weights.size, 1});
}

template <class T>
Matrix<double> LinearProblem<T>::weighted_targets(const Context& ctx, std::int64_t n_targets) const {
  Matrix<double> y(ctx.memory(), n_rows_, n_targets);
  const MatrixView<const double> some(device_targets_.data(), n_rows_, n_targets, n_targets_);
  if (device_weights_.size() == 0) ctx.ops<double>().tables->gather(some, {}, {}, {}, y.view());
  else ctx.ops<double>().maps->combine(Binary::kMultiply, some, {device_weights_.data(), n_rows_, 1}, y.view());
  return y;
}

template <class T>
std::vector<double> LinearProblem<T>::targets(const Context& ctx) const {
  return weighted_targets(ctx, n_targets_).to_host();
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

template <class T>
std::vector<double> LinearProblem<T>::slopes(const Context& ctx, std::span<const double> coef) const {
  ctx.check_stop();
  Design<T> first = design();
  first.Y.cols = 1;
  const Array<double> w(ctx.memory(), coef);
  Array<double> found(ctx.memory(), n_cols_);
  ctx.ops<T>().design->slopes(first, w.view(), found.view());
  return found.to_host();
}

template <class T>
double LinearProblem<T>::residual_squares(const Context& ctx, std::span<const double> coef) const {
  const std::int64_t p = n_cols_ + n_targets_, step = block_rows(ctx, kBlockRows, p), most = std::min(n_rows_, step),
                     blocks = (n_rows_ + step - 1) / step;
  std::vector<double> signs(static_cast<std::size_t>(p), 0.0);   // a row of the design times these is its residual
  std::ranges::transform(coef, signs.begin(), [](double w) { return -w; });
  signs[static_cast<std::size_t>(n_cols_)] = 1;
  const Matrix<double> w(ctx.memory(), 1, p, signs);
  Matrix<double> block(ctx.memory(), most, p), residual(ctx.memory(), most, 1), sums(ctx.memory(), blocks, 1);
  Backend<double>& ops = ctx.ops<double>();
  for (std::int64_t b = 0, i = 0; b < blocks; ++b, i += step) {
    ctx.check_stop();
    const MatrixView<double> rows = block.view().row_range(0, std::min(step, n_rows_ - i)),
                             part = residual.view().row_range(0, rows.rows);
    ctx.ops<T>().design->gather(design(), i, rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, w.view(), 0.0, part);
    ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, part, part, 0.0, sums.view().row_range(b, 1));
  }
  Array<double> total(ctx.memory(), 1);
  ops.rows->column_sums(std::as_const(sums).view(), total.view());
  return total.to_host()[0];
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
  const std::int64_t step = block_rows(ctx, kBlockRows, d);
  Matrix<double> block(ctx.memory(), kept ? 0 : std::min(n, step), d);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
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
