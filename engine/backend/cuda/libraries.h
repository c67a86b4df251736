// The vendor's algorithms that kernels' host code builds on: cuBLAS, cuSOLVER and CUB behind one thin interface. Bodies:
// native/*.cc, *.cu on the real libraries, emulated/libraries.cc with plain references. All pointers are device memory.
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
  // C = alpha A'A, the lower triangle (row >= col) only.
  template <class T>
  void gram_lower(T alpha, MatrixView<const T> A, MatrixView<T> C);
  // Symmetric A = V diag(w) V'; row i of A becomes the eigenvector of w[i], w ascending. A has no padding.
  template <class T>
  void eigh(MatrixView<T> A, VectorView<T> w);
  // Thin decomposition of A (m x n): U (m x r), s descending, Vt (r x n); no padding anywhere; A is overwritten.
  template <class T>
  void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt);
  // A (m x n, m >= n, no padding) becomes the orthonormal Q of its QR decomposition.
  template <class T>
  void orthonormalize(MatrixView<T> A);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// CUB. Key: float, double, std::uint32_t or std::uint64_t; -0 sorts before +0. In and out must not overlap. Ascending, stable.
template <class Key>
void sort_keys(CudaRuntime& runtime, const Key* in, Key* out, std::int64_t n);
// Key: float, double, std::uint32_t or std::uint64_t; values are std::int32_t.
template <class Key>
void sort_pairs(CudaRuntime& runtime, const Key* keys, Key* keys_out, const std::int32_t* values, std::int32_t* values_out,
                std::int64_t n);
// out[i] = in[0] + ... + in[i - 1]. T: std::int32_t or std::int64_t.
template <class T>
void exclusive_sum(CudaRuntime& runtime, const T* in, T* out, std::int64_t n);

}  // namespace kedge::engine
