// Columns of dense and of sparse designs.
#include "engine/estimators/linear/elastic_net_columns.h"

#include <algorithm>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::int64_t kColumnsAtOnce = 4096;

}  // namespace

DenseColumns::DenseColumns(const Context& ctx, Matrix<double> X, const std::vector<double>& y)
    : ctx_(ctx), X_(std::move(X)), device_y_(ctx.memory(), X_.rows(), 1, y) {}

std::vector<double> DenseColumns::squared_norms() const {
  Array<double> mean(ctx_.memory(), X_.cols()), variance(ctx_.memory(), X_.cols());
  ctx_.ops<double>().tables->column_moments(X_.view(), {}, {}, mean.view(), variance.view());
  const std::vector<double> m = mean.to_host(), v = variance.to_host();
  std::vector<double> norms;
  for (std::size_t j = 0; j < m.size(); ++j)
    norms.push_back(static_cast<double>(X_.rows()) * (v[j] + m[j] * m[j]));
  return norms;
}

std::vector<double> DenseColumns::products(const std::vector<double>& r) const {
  const Matrix<double> right(ctx_.memory(), X_.rows(), 1, r);
  Matrix<double> slopes(ctx_.memory(), 1, X_.cols());
  const std::int64_t step = std::clamp<std::int64_t>(
      X_.rows() - 1, 1, kColumnsAtOnce);  // products thinner than tall need no copy of X
  for (std::int64_t j = 0; j < X_.cols(); j += step) {
    const std::int64_t count = std::min(step, X_.cols() - j);
    ctx_.ops<double>().linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, right.view(),
                                    MatrixView<const double>(X_.data() + j, X_.rows(), count, X_.cols()), 0.0,
                                    MatrixView<double>(slopes.data() + j, 1, count, X_.cols()));
  }
  return slopes.to_host();
}

void DenseColumns::take(const std::vector<std::int32_t>& set) {
  const Array<std::int32_t> columns(ctx_.memory(), std::span<const std::int32_t>(set));
  some_ = Matrix<double>(ctx_.memory(), X_.rows(), columns.size());
  ctx_.ops<double>().categories->take_columns(std::as_const(X_).view(), {}, columns.view(), some_.view());
}

Matrix<double> DenseColumns::gram(const std::vector<std::int32_t>& set) {
  take(set);
  Matrix<double> G(ctx_.memory(), some_.cols() + 1, some_.cols() + 1);
  ctx_.ops<double>().design->gram({.X = std::as_const(some_).view(), .Y = std::as_const(device_y_).view()}, G.view());
  return G;
}

std::vector<double> DenseColumns::fitted(const std::vector<std::int32_t>&,
                                         const std::vector<double>& coef) const {
  const Matrix<double> w(ctx_.memory(), 1, some_.cols(), coef);
  Matrix<double> out(ctx_.memory(), X_.rows(), 1);
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, some_.view(), w.view(), 0.0, out.view());
  return out.to_host();
}

Matrix<double> DenseColumns::outer(const std::vector<std::int32_t>& set) {
  take(set);
  Matrix<double> K(ctx_.memory(), X_.rows(), X_.rows());
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, std::as_const(some_).view(),
                                  std::as_const(some_).view(), 0.0, K.view());
  return K;
}

template <class T>
Matrix<double> SparseColumns<T>::gram(const std::vector<std::int32_t>& set) {
  const auto p = static_cast<std::int64_t>(set.size()) + 1;
  return Matrix<double>(ctx_.memory(), p, p, problem_.gram(ctx_, set, y_));
}

template <class T>
std::vector<double> SparseColumns<T>::fitted(const std::vector<std::int32_t>& set,
                                             const std::vector<double>& coef) const {
  std::vector<double> w(static_cast<std::size_t>(problem_.n_cols()), 0.0);
  for (std::size_t i = 0; i < set.size(); ++i) w[static_cast<std::size_t>(set[i])] = coef[i];
  return problem_.times(ctx_, w);
}

template class SparseColumns<float>;
template class SparseColumns<double>;

}  // namespace kedge::engine
