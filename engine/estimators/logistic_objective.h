// The penalised logistic loss of a weight vector, and its gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/context.h"

namespace kedge::engine {

// What the loss is taken over; all device memory, borrowed for the objective's lifetime.
template <class T>
struct LogisticData {
  MatrixView<const T> X;                    // n x d
  VectorView<const std::int32_t> y;         // n class positions, 0 .. n_classes - 1
  VectorView<const double> weights;         // n, or empty for 1 each
  double weight_sum = 0;
  std::int32_t n_classes = 0;               // at least 2
};

// mean of weight[i] * loss(x_i, y_i) + l2 / 2 * |coefficients|^2, as scikit-learn's LinearModelLoss: multinomial with a row of
// coefficients a class; with two classes a single row, that of the second class. The vector holds the rows of coefficients,
// then one intercept each; intercepts are not penalised. Two passes over X an evaluation; device buffers are made once.
template <class T>
class LogisticObjective {
 public:
  LogisticObjective(const Context& ctx, const LogisticData<T>& data, double l2, bool fit_intercept);
  std::int64_t size() const { return n_rows_ * (data_.X.cols + (fit_intercept_ ? 1 : 0)); }
  double operator()(std::span<const double> w, std::span<double> gradient);

 private:
  void upload(std::span<const double> w);
  double add_penalty(std::span<const double> w, std::span<double> gradient) const;

  const Context& ctx_;
  LogisticData<T> data_;
  double l2_;
  bool fit_intercept_;
  std::int64_t n_rows_;                // of coefficients
  Matrix<T> margins_, coef_, coef_gradient_;
  Array<T> intercept_;
  Array<double> intercept_gradient_;
  std::vector<T> host_;
};

}  // namespace kedge::engine
