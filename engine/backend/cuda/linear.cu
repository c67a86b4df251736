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
