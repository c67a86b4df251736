// Factorisations and solvers of dense matrices.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class FactoriseOps {
 public:
  virtual ~FactoriseOps() = default;

  // Symmetric A = V diag(w) V', or its w.size largest eigenvalues only. Row i of A becomes the vector of w[i], w
  // ascending.
  virtual void eigh(MatrixView<T> A, VectorView<T> w) = 0;
  // Thin singular value decomposition of A (m x n, r = min(m, n)): U m x r, s descending, Vt r x n. A is overwritten.
  virtual void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) = 0;
  // B = A^-1 B for a symmetric positive definite A (n x n) and B (n x m), by Cholesky; A is overwritten. False, and B
  // unchanged, if a pivot is not positive. No padding in A. Waits.
  virtual bool solve_positive(MatrixView<T> A, MatrixView<T> B) = 0;
  // A (m x n, m >= n) is replaced by the orthonormal Q of its QR decomposition.
  virtual void orthonormalize(MatrixView<T> A) = 0;
};

}   // namespace kedge::engine
