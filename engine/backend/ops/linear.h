// Products of dense matrices.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

enum class Transpose { kNo, kYes };

template <class T>
class LinearOps {
 public:
  virtual ~LinearOps() = default;

  // C = alpha op(A) op(B) + beta C.
  virtual void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta,
                    MatrixView<T> C) = 0;
  // C = alpha A'A, both triangles. A is n x d, C is d x d.
  virtual void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) = 0;
  // Block m of C (rows m * q .. m * q + q - 1) = sum_i W[i, m] x_i x_i', both triangles. x_i is row i of X, followed by
  // a 1 if with_ones, and q its length; W >= 0 (n x M), C is M * q x q.
  virtual void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) = 0;
};

}   // namespace kedge::engine
