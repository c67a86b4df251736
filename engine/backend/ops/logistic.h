// Multinomial logistic loss with its first and second derivatives.
#pragma once

#include <cstdint>

#include "engine/backend/ops/linear.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class LogisticOps {
 public:
  virtual ~LogisticOps() = default;

  // Multinomial logistic loss. Z (n x k) holds margins without intercept, b the intercepts (k, or empty). Returns
  // sum_i weight[i] * (logsumexp(z_i) - z_i[y_i]); replaces Z by d loss / d Z. Empty weights mean 1. Waits.
  virtual double loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
                      VectorView<const double> weights) = 0;
  // The same loss of margins that are X B' in the last columns of Z (B is m x d, m <= k) and what Z holds in the
  // others; replaces Z as above, and sets G = d loss / d B (m x d). Waits.
  virtual double gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b,
                          VectorView<const std::int32_t> y, VectorView<const double> weights, MatrixView<T> Z,
                          MatrixView<T> G) = 0;
  // Second derivatives of the loss above by the margins, each row's share: W[i, (a, b)] = weight[i] * p_a * ((a == b) -
  // p_b) without its sign, for a <= b in the order (0, 0), (0, 1) ..., W is n x k (k + 1) / 2; with k = 2 only p_0 *
  // p_1, W is n x 1.
  virtual void curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights,
                         MatrixView<double> W) = 0;
};

// gradient() in two passes over X: what a body does that has no better way.
template <class T>
double gradient_by_products(LinearOps<T>& linear, LogisticOps<T>& logistic, MatrixView<const T> X,
                            MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                            VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) {
  const MatrixView<T> margins = Z.last_columns(B.rows);
  linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, X, B, T{0}, margins);
  const double loss = logistic.loss(Z, b, y, weights);
  linear.gemm(Transpose::kYes, Transpose::kNo, T{1}, margins, X, T{0}, G);
  return loss;
}

}   // namespace kedge::engine
