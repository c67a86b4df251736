// The vendor's algorithms that kernels' host code builds on: cuBLAS, cuSOLVER and CUB behind one thin interface. Bodies:
// native/blas.cc, solver.cc and sort.cu on the real libraries, emulated/libraries.cc with plain references. All pointers are device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Library handles bound to one runtime's stream. A resource; borrows the runtime for its lifetime. T is float or double.
class DeviceLibraries {
 public:
  explicit DeviceLibraries(CudaRuntime& runtime);
  ~DeviceLibraries();

  // C = alpha op(A) op(B) + beta C, row-major.
  template <class T>
  void gemm(bool transpose_a, bool transpose_b, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C);
  // The products of `count` equal pieces: C[c] (no padding, piece after piece) = op(A[c]) op(B[c]), where A and B are
  // the views of the first pieces, and the next begin a_step and b_step values further.
  template <class T>
  void gemm_pieces(bool transpose_a, bool transpose_b, MatrixView<const T> A, std::int64_t a_step,
                   MatrixView<const T> B, std::int64_t b_step, std::int64_t count, T* C);
  // B = A^-1 B for a symmetric positive definite A (no padding), which is overwritten. False if a pivot is not positive. Waits.
  template <class T>
  bool solve_positive(MatrixView<T> A, MatrixView<T> B);
  // Symmetric A = V diag(w) V', or its w.size largest eigenvalues; row i of A becomes the vector of w[i], w ascending. No padding.
  template <class T>
  void eigh(MatrixView<T> A, VectorView<T> w);
  // Thin decomposition of A (m x n): U (m x r), s descending, Vt (r x n); no padding anywhere; A is overwritten.
  template <class T>
  void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt);
  // A (m x n, m >= n, no padding) becomes the orthonormal Q of its QR decomposition.
  template <class T>
  void orthonormalize(MatrixView<T> A);
  // Column-major A (m x n, m >= n, no padding): its upper triangle becomes R of A = Q R.
  template <class T>
  void triangularize(T* A, std::int64_t m, std::int64_t n);
  // Each row ascending. No NaN.
  template <class T>
  void sort_rows(MatrixView<T> A);
  // Sorts n pairs by key; pairs of equal keys stay in order. 0 <= keys.
  void sort_pairs(std::int32_t* keys, std::int32_t* values, std::int64_t n);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
