// Triangles and covariances of the rows of each class.
#include "engine/estimators/discriminant/class_scatter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/estimators/centred_design.h"
#include "engine/estimators/class_moments.h"
#include "engine/estimators/covariance/shrinkage.h"

namespace kedge::engine {

template <class T>
ClassScatter<T>::ClassScatter(const Context& ctx, const Samples<T>& X, const PresentClasses& present, const Target& y)
    : X_(X), rows_(present.codes.size()) {
  const std::int64_t k = present.size(), d = X.n_cols();
  const std::vector<std::int32_t> table_rows = X.rows ? X.rows->to_host() : std::vector<std::int32_t>();
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    rows_[static_cast<std::size_t>(present.positions[static_cast<std::size_t>(y.codes[i])])].push_back(
        X.rows ? table_rows[i] : static_cast<std::int32_t>(i));
  const DevicePositions positions(ctx, present, y);
  ClassMoments found =
      fetch_class_moments(ctx, std::as_const(X.table->X).view(), X.row_view(), positions.view(), {}, k);
  means_ = std::move(found.mean), variances_ = std::move(found.variance);
  for (std::size_t e = 0; e < means_.size() && X.is_affine(); ++e) {
    const std::size_t j = e % static_cast<std::size_t>(d);
    means_[e] = (means_[e] - X.shift[j]) * X.scale[j], variances_[e] *= X.scale[j] * X.scale[j];
  }
  spread_.assign(static_cast<std::size_t>(d), 0.0);
  for (std::size_t j = 0; j < spread_.size(); ++j) {
    double largest = 0;
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      spread_[j] += static_cast<double>(rows_[c].size()) * variances_[c * spread_.size() + j];
      largest = std::max(largest, std::abs(means_[c * spread_.size() + j]));
    }
    spread_[j] = std::sqrt(spread_[j] / static_cast<double>(X.n_rows()));
    if (spread_[j] <= 8 * std::numeric_limits<double>::epsilon() * largest) spread_[j] = 0;
  }
}

template <class T>
Samples<T> ClassScatter<T>::rows_of(const Context& ctx, std::int32_t position) const {
  Samples<T> rows = X_;
  rows.rows = std::make_shared<Array<std::int32_t>>(ctx.memory(),
                                                    std::span<const std::int32_t>(rows_[static_cast<std::size_t>(position)]));
  return rows;
}

template <class T>
std::vector<double> ClassScatter<T>::class_triangle(const Context& ctx, std::int32_t position) const {
  const std::int64_t d = X_.n_cols(), first = position * d;
  const Samples<T> rows = rows_of(ctx, position);
  const CentredDesign<T> centred(ctx, rows, {means_.begin() + first, means_.begin() + first + d},
                                 std::vector<double>(static_cast<std::size_t>(d), 1.0));
  Matrix<double> R(ctx.memory(), d, d);
  ctx.ops<T>().design->triangle(centred.design, R.view());
  return R.to_host();
}

// The triangle so far and that of the next class make one triangle again.
template <class T>
std::vector<double> ClassScatter<T>::within_triangle(const Context& ctx, const std::vector<double>& scale) const {
  const auto d = static_cast<std::int64_t>(scale.size());
  Matrix<double> stack(ctx.memory(), 2 * d, d), R(ctx.memory(), d, d);
  const MatrixView<double> upper = stack.view().row_range(0, d), lower = stack.view().row_range(d, d);
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(rows_.size()); ++c) {
    ctx.check_stop();
    const Samples<T> rows = rows_of(ctx, c);
    const CentredDesign<T> centred(ctx, rows, std::vector<double>(means_.begin() + c * d, means_.begin() + (c + 1) * d), scale);
    ctx.ops<T>().design->triangle(centred.design, c == 0 ? upper : lower);
    if (c == 0) continue;
    ctx.ops<double>().design->triangle({.X = std::as_const(stack).view()}, R.view());
    ctx.memory().copy(stack.data(), R.data(), static_cast<std::size_t>(d * d) * sizeof(double));
  }
  std::vector<double> host(static_cast<std::size_t>(d * d));
  ctx.memory().to_host(host.data(), stack.data(), host.size() * sizeof(double));
  return host;
}

template <class T>
std::vector<double> ClassScatter<T>::covariance_of(const Context& ctx, const Samples<T>& rows, const std::vector<double>& mean,
                                                   const std::vector<double>& variance, const Shrinkage& shrinkage) const {
  const auto d = static_cast<std::int64_t>(mean.size());
  const double n = static_cast<double>(rows.n_rows());
  std::vector<double> deviation(mean.size(), 1.0),
      factor(mean.size(), 1.0);  // Ledoit and Wolf's share is found on standardised columns
  for (std::size_t j = 0; shrinkage.is_automatic && j < mean.size(); ++j) {
    const double s = std::sqrt(variance[j]);
    if (s > 8 * std::numeric_limits<double>::epsilon() * std::abs(mean[j])) deviation[j] = s, factor[j] = 1 / s;
  }
  ctx.check_stop();
  const CentredDesign<T> centred(ctx, rows, mean, factor);
  Matrix<double> G(ctx.memory(), d, d);
  ctx.ops<T>().design->gram(centred.design, G.view());
  std::vector<double> S = G.to_host();
  for (double& s : S) s /= n;
  if (shrinkage.is_automatic)
    shrink(S, d, ledoit_wolf_share(S, d, n, fourth_powers(ctx, centred.design)));
  else if (shrinkage.share > 0)
    shrink(S, d, shrinkage.share);
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      S[static_cast<std::size_t>(i * d + j)] *= deviation[static_cast<std::size_t>(i)] * deviation[static_cast<std::size_t>(j)];
  return S;
}

template <class T>
std::vector<double> ClassScatter<T>::covariance(const Context& ctx, std::int32_t position, const Shrinkage& shrinkage) const {
  const auto d = X_.n_cols(), first = position * d;
  return covariance_of(ctx, rows_of(ctx, position), {means_.begin() + first, means_.begin() + first + d},
                       {variances_.begin() + first, variances_.begin() + first + d}, shrinkage);
}

template <class T>
std::vector<double> ClassScatter<T>::total_covariance(const Context& ctx, const Shrinkage& shrinkage) const {
  const Moments moments = column_moments(ctx, X_);
  return covariance_of(ctx, X_, moments.mean, moments.variance, shrinkage);
}

std::vector<double> host_product(const Context& ctx, std::span<const double> A, std::int64_t a_cols, bool transpose_a,
                                 std::span<const double> B, std::int64_t b_cols, bool transpose_b) {
  const std::int64_t a_rows = static_cast<std::int64_t>(A.size()) / a_cols, b_rows = static_cast<std::int64_t>(B.size()) / b_cols;
  const Matrix<double> left(ctx.memory(), a_rows, a_cols, A), right(ctx.memory(), b_rows, b_cols, B);
  Matrix<double> result(ctx.memory(), transpose_a ? a_cols : a_rows, transpose_b ? b_rows : b_cols);
  ctx.ops<double>().linear->gemm(transpose_a ? Transpose::kYes : Transpose::kNo,
                                 transpose_b ? Transpose::kYes : Transpose::kNo, 1.0, left.view(), right.view(), 0.0,
                                 result.view());
  return result.to_host();
}

template class ClassScatter<float>;
template class ClassScatter<double>;

}   // namespace kedge::engine
