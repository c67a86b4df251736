// Logistic loss on the device: margins by gemm, loss and its derivative in place, gradient by gemm.
#include "engine/estimators/logistic_objective.h"

#include <algorithm>

namespace kedge::engine {

template <class T>
LogisticObjective<T>::LogisticObjective(const Context& ctx, const LogisticData<T>& data, double l2, bool fit_intercept)
    : ctx_(ctx), data_(data), l2_(l2), fit_intercept_(fit_intercept), n_rows_(data.n_classes == 2 ? 1 : data.n_classes),
      margins_(ctx.memory(), data.X.rows, data.n_classes), coef_(ctx.memory(), n_rows_, data.X.cols),
      coef_gradient_(ctx.memory(), n_rows_, data.X.cols), intercept_(ctx.memory(), data.n_classes),
      intercept_gradient_(ctx.memory(), data.n_classes) {}

template <class T>
void LogisticObjective<T>::upload(std::span<const double> w) {
  const std::int64_t n_coef = n_rows_ * data_.X.cols;
  host_.assign(w.begin(), w.begin() + n_coef);
  ctx_.memory().to_device(coef_.data(), host_.data(), host_.size() * sizeof(T));
  host_.assign(static_cast<std::size_t>(data_.n_classes), T{0});
  if (fit_intercept_) std::copy(w.begin() + n_coef, w.end(), host_.end() - n_rows_);
  ctx_.memory().to_device(intercept_.data(), host_.data(), host_.size() * sizeof(T));
}

template <class T>
double LogisticObjective<T>::add_penalty(std::span<const double> w, std::span<double> gradient) const {
  double square = 0;
  for (std::int64_t i = 0; i < n_rows_ * data_.X.cols; ++i) {
    gradient[i] += l2_ * w[i];
    square += w[i] * w[i];
  }
  return 0.5 * l2_ * square;
}

// With two classes the margin of the first is 0: the second column alone is computed, and the loss is the same.
template <class T>
double LogisticObjective<T>::operator()(std::span<const double> w, std::span<double> gradient) {
  Backend<T>& ops = ctx_.ops<T>();
  upload(w);
  const std::int64_t skipped = data_.n_classes - n_rows_;
  if (skipped) margins_.zero();
  const MatrixView<T> columns(margins_.data() + skipped, data_.X.rows, n_rows_, data_.n_classes);
  ops.gemm(Transpose::kNo, Transpose::kYes, T{1}, data_.X, std::as_const(coef_).view(), T{0}, columns);
  const double loss = ops.logistic_loss(margins_.view(), std::as_const(intercept_).view(), data_.y, data_.weights);
  ops.gemm(Transpose::kYes, Transpose::kNo, T{1}, columns, data_.X, T{0}, coef_gradient_.view());

  const std::vector<T> coef_gradient = coef_gradient_.to_host();
  for (std::size_t i = 0; i < coef_gradient.size(); ++i) gradient[i] = coef_gradient[i] / data_.weight_sum;
  if (fit_intercept_) {
    ops.column_sums(std::as_const(margins_).view(), intercept_gradient_.view());
    const std::vector<double> sums = intercept_gradient_.to_host();
    for (std::int64_t r = 0; r < n_rows_; ++r)
      gradient[coef_gradient.size() + r] = sums[skipped + r] / data_.weight_sum;
  }
  return loss / data_.weight_sum + add_penalty(w, gradient);
}

template class LogisticObjective<float>;
template class LogisticObjective<double>;

}  // namespace kedge::engine
