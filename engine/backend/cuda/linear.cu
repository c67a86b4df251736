// Dense linear algebra on the GPU: cuBLAS and cuSOLVER through libraries.h.
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/sums.cuh"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

template <class T>
__global__ void mirror_lower(T* C, std::int64_t n, std::int64_t stride) {
  const std::int64_t i = own_row();
  if (i >= n) return;
  for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) {
    if (j > i) C[i * stride + j] = C[j * stride + i];
  }
}

// out (rows x q, no padding) = sqrt(w[i]) * row i of X, followed by a 1 where q is one more than X's columns.
template <class T>
__global__ void scale_rows(MatrixView<const T> X, const double* w, std::int64_t w_stride, T* out, std::int64_t q) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const T factor = static_cast<T>(sqrt(w[i * w_stride]));
  for (std::int64_t j = threadIdx.x; j < q; j += blockDim.x) out[i * q + j] = j < X.cols ? X.data[i * X.stride + j] * factor : factor;
}

}  // namespace

template <class T>
void CudaLinear<T>::gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C) {
  if (C.size() == 0) return;
  this->libraries_.gemm(ta == Transpose::kYes, tb == Transpose::kYes, alpha, A, B, beta, C);
}

template <class T>
void CudaLinear<T>::gram(T alpha, MatrixView<const T> A, MatrixView<T> C) {
  if (C.size() == 0) return;
  this->libraries_.gram_lower(alpha, A, C);
  KEDGE_LAUNCH(this->runtime_, mirror_lower<T>, row_blocks(C.rows, C.cols), row_block(C.cols), 0, C.data, C.rows, C.stride);
}

template <class T>
void CudaLinear<T>::weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) {
  const std::int64_t q = X.cols + (with_ones ? 1 : 0);
  Matrix<T> scaled(this->runtime_, X.rows, q);
  for (std::int64_t m = 0; m < W.cols; ++m) {
    KEDGE_LAUNCH(this->runtime_, scale_rows<T>, row_blocks(X.rows, q), row_block(q), 0, X, W.data + m, W.stride, scaled.data(), q);
    gram(T{1}, std::as_const(scaled).view(), C.row_range(m * q, q));
  }
}

template <class T>
bool CudaLinear<T>::solve_positive(MatrixView<T> A, MatrixView<T> B) {
  return A.size() == 0 || this->libraries_.solve_positive(A, B);
}

template <class T>
void CudaLinear<T>::eigh(MatrixView<T> A, VectorView<T> w) {
  if (A.size()) this->libraries_.eigh(A, w);
}

template <class T>
void CudaLinear<T>::svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) {
  if (A.size()) this->libraries_.svd(A, U, s, Vt);
}

template <class T>
void CudaLinear<T>::orthonormalize(MatrixView<T> A) {
  if (A.rows < A.cols)
    throw schema::Error(schema::ErrorCode::kInternal, "orthonormalize: " + std::to_string(A.rows) + " rows, must be at least the " +
                                                          std::to_string(A.cols) + " columns");
  if (A.size()) this->libraries_.orthonormalize(A);
}

template class CudaLinear<float>;
template class CudaLinear<double>;

}  // namespace kedge::engine
