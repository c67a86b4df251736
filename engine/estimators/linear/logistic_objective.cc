// Logistic loss on the device: loss and gradient by one op, of sparse rows by products; curvature by Gram matrices.
#include "engine/estimators/linear/logistic_objective.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::int64_t kCurvatureEntries = std::int64_t{1} << 22;  // of second derivatives by the margins, at a time: 32 MiB

// The transpose of a row-major matrix with `cols` columns.
template <class T>
std::vector<T> flipped(const std::vector<T>& A, std::int64_t cols) {
  const auto d = static_cast<std::size_t>(cols), k = A.size() / d;
  std::vector<T> out(A.size());
  for (std::size_t e = 0; e < A.size(); ++e) out[e % d * k + e / d] = A[e];
  return out;
}

}  // namespace

template <class T>
LogisticObjective<T>::LogisticObjective(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty,
                                        bool fit_intercept)
    : ctx_(ctx),
      data_(data),
      penalty_(penalty),
      fit_intercept_(fit_intercept),
      n_rows_(data.n_classes == 2 ? 1 : data.n_classes),
      margins_(ctx.memory(), data.X.rows, data.n_classes),
      coef_(ctx.memory(), n_rows_, data.X.cols),
      coef_gradient_(ctx.memory(), n_rows_, data.X.cols),
      intercept_(ctx.memory(), data.n_classes),
      intercept_gradient_(ctx.memory(), data.n_classes) {}

template <class T>
std::int64_t LogisticObjective<T>::position(std::int64_t row, std::int64_t column) const {
  return column < data_.X.cols ? row * data_.X.cols + column : n_rows_ * data_.X.cols + row;
}

template <class T>
void LogisticObjective<T>::upload(std::span<const double> w) {
  const std::int64_t n_coef = n_rows_ * data_.X.cols;
  host_.assign(w.begin(), w.begin() + n_coef);
  if (data_.is_sparse()) host_ = flipped(host_, data_.X.cols);
  ctx_.memory().to_device(coef_.data(), host_.data(), host_.size() * sizeof(T));
  host_.assign(static_cast<std::size_t>(data_.n_classes), T{0});
  if (fit_intercept_) std::copy(w.begin() + n_coef, w.end(), host_.end() - n_rows_);
  ctx_.memory().to_device(intercept_.data(), host_.data(), host_.size() * sizeof(T));
  if (n_rows_ < data_.n_classes) margins_.zero();   // of two classes the first: the second column alone is computed, and the loss is the same
}

template <class T>
MatrixView<T> LogisticObjective<T>::margins(std::span<const double> w) {
  upload(w);
  const MatrixView<T> columns = margins_.view().last_columns(n_rows_);
  if constexpr (std::is_same_v<T, double>)
    if (data_.is_sparse()) return data_.times({coef_.data(), data_.X.cols, n_rows_}, columns), columns;
  ctx_.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, data_.X, std::as_const(coef_).view(), T{0},
                             columns);
  return columns;
}

template <class T>
double LogisticObjective<T>::loss(std::span<const double> w, std::vector<T>& coef_gradient) {
  const VectorView<const T> intercept = std::as_const(intercept_).view();
  if constexpr (std::is_same_v<T, double>)
    if (data_.is_sparse()) {
      const MatrixView<T> columns = margins(w);
      const double loss = ctx_.ops<T>().logistic->loss(margins_.view(), intercept, data_.y, data_.weights);
      data_.transpose_times(columns, {coef_gradient_.data(), data_.X.cols, n_rows_});
      coef_gradient = flipped(coef_gradient_.to_host(), n_rows_);
      return loss;
    }
  upload(w);
  const double loss = ctx_.ops<T>().logistic->gradient(data_.X, std::as_const(coef_).view(), intercept, data_.y,
                                                       data_.weights, margins_.view(), coef_gradient_.view());
  coef_gradient = coef_gradient_.to_host();
  return loss;
}

template <class T>
double LogisticObjective<T>::add_penalty(std::span<const double> w, std::span<double> gradient) const {
  double penalty = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    gradient[i] += penalty_.l2[i] * w[i];
    penalty += penalty_.l2[i] * w[i] * w[i];
  }
  return penalty / 2;
}

template <class T>
double LogisticObjective<T>::operator()(std::span<const double> w, std::span<double> gradient) {
  std::vector<T> coef_gradient;
  const double loss = this->loss(w, coef_gradient);
  for (std::size_t i = 0; i < coef_gradient.size(); ++i) gradient[i] = coef_gradient[i] / data_.weight_sum;
  if (fit_intercept_) {
    ctx_.ops<T>().rows->column_sums(std::as_const(margins_).view(), intercept_gradient_.view());
    const std::vector<double> sums = intercept_gradient_.to_host();
    for (std::int64_t r = 0; r < n_rows_; ++r)
      gradient[coef_gradient.size() + r] = sums[data_.n_classes - n_rows_ + r] / data_.weight_sum;
  }
  return loss / data_.weight_sum + add_penalty(w, gradient);
}

template <class T>
void LogisticObjective<T>::add_block(std::int64_t a, std::int64_t b, std::span<const T> gram, std::span<double> hessian) const {
  const std::int64_t q = data_.X.cols + (fit_intercept_ ? 1 : 0);
  const double factor = (a == b ? 1.0 : -1.0) / data_.weight_sum;
  for (std::int64_t r = 0; r < q; ++r) {
    for (std::int64_t c = 0; c < q; ++c) {
      const double value = factor * static_cast<double>(gram[static_cast<std::size_t>(r * q + c)]);
      hessian[position(a, r) * size() + position(b, c)] += value;
      if (a != b) hessian[position(b, c) * size() + position(a, r)] += value;
    }
  }
}

template <class T>
void LogisticObjective<T>::finish_curvature(std::span<double> hessian) const {
  const std::int64_t p = size();
  for (std::int64_t c = 0; n_rows_ > 1 && c < p / n_rows_; ++c) {
    const auto first = static_cast<std::size_t>(position(0, c));
    if (penalty_.l2[first] > 0 || (!penalty_.l1.empty() && penalty_.l1[first] > 0)) continue;
    double trace = 0;
    for (std::int64_t a = 0; a < n_rows_; ++a) trace += hessian[position(a, c) * (p + 1)];
    const double share = (trace > 0 ? trace : 1.0) / static_cast<double>(n_rows_ * n_rows_);
    for (std::int64_t a = 0; a < n_rows_; ++a)
      for (std::int64_t b = 0; b < n_rows_; ++b) hessian[position(a, c) * p + position(b, c)] += share;
  }
  for (std::int64_t i = 0; i < p; ++i) hessian[i * (p + 1)] += penalty_.l2[static_cast<std::size_t>(i)];
}

template <class T>
void LogisticObjective<T>::curvature(std::span<const double> w, std::span<double> hessian) {
  Backend<T>& ops = ctx_.ops<T>();
  margins(w);
  std::fill(hessian.begin(), hessian.end(), 0.0);
  const std::int64_t pairs = n_rows_ == 1 ? 1 : n_rows_ * (n_rows_ + 1) / 2, q = data_.X.cols + (fit_intercept_ ? 1 : 0);
  const std::int64_t n = data_.X.rows,
                     block_rows = std::clamp<std::int64_t>(kCurvatureEntries / pairs, 1024, std::max<std::int64_t>(n, 1024));
  Matrix<double> second(ctx_.memory(), std::min(n, block_rows), pairs);
  Matrix<T> grams(ctx_.memory(), pairs * q, q);
  for (std::int64_t first = 0; first < n; first += block_rows) {
    ctx_.check_stop();
    const std::int64_t count = std::min(block_rows, n - first);
    const MatrixView<double> W = second.view().row_range(0, count);
    ops.logistic->curvature(std::as_const(margins_).view().row_range(first, count), std::as_const(intercept_).view(),
                            data_.weights.empty() ? data_.weights : data_.weights.slice(first, count), W);
    ops.linear->weighted_gram(data_.X.row_range(first, count), W, fit_intercept_, grams.view());
    const std::vector<T> host = grams.to_host();
    std::span<const T> rest(host);
    for (std::int64_t a = 0; a < n_rows_; ++a)
      for (std::int64_t b = a; b < n_rows_; ++b) add_block(a, b, rest.first(q * q), hessian), rest = rest.subspan(q * q);
  }
  finish_curvature(hessian);
}

template class LogisticObjective<float>;
template class LogisticObjective<double>;

}  // namespace kedge::engine
