// cuBLAS. Row-major matrices are what column-major cuBLAS sees as their transposes: C = A B is computed as C' = B' A'.
#include "engine/backend/cuda/native/handles.h"

namespace kedge::engine {
namespace {

int as_int(std::int64_t value) { return static_cast<int>(value); }   // cuBLAS's classic interface; rows x cols go to 2^31 each

cublasStatus_t call_gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha, const float* a,
                         int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  return cublasSgemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
cublasStatus_t call_gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const double* alpha,
                         const double* a, int lda, const double* b, int ldb, const double* beta, double* c, int ldc) {
  return cublasDgemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
cublasStatus_t call_syrk(cublasHandle_t h, int n, int k, const float* alpha, const float* a, int lda, const float* beta, float* c, int ldc) {
  return cublasSsyrk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, k, alpha, a, lda, beta, c, ldc);
}
cublasStatus_t call_syrk(cublasHandle_t h, int n, int k, const double* alpha, const double* a, int lda, const double* beta, double* c, int ldc) {
  return cublasDsyrk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, k, alpha, a, lda, beta, c, ldc);
}

}  // namespace

template <class T>
void DeviceLibraries::gemm(bool transpose_a, bool transpose_b, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C) {
  const auto flag = [](bool t) { return t ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const std::int64_t k = transpose_a ? A.rows : A.cols;
  KEDGE_CHECK(call_gemm(impl_->blas, flag(transpose_b), flag(transpose_a), as_int(C.cols), as_int(C.rows), as_int(k), &alpha, B.data,
                        as_int(B.stride), A.data, as_int(A.stride), &beta, C.data, as_int(C.stride)));
}

// Row-major lower is column-major upper.
template <class T>
void DeviceLibraries::gram_lower(T alpha, MatrixView<const T> A, MatrixView<T> C) {
  const T zero = 0;
  KEDGE_CHECK(call_syrk(impl_->blas, as_int(A.cols), as_int(A.rows), &alpha, A.data, as_int(A.stride), &zero, C.data, as_int(C.stride)));
}

template void DeviceLibraries::gemm(bool, bool, float, MatrixView<const float>, MatrixView<const float>, float, MatrixView<float>);
template void DeviceLibraries::gemm(bool, bool, double, MatrixView<const double>, MatrixView<const double>, double, MatrixView<double>);
template void DeviceLibraries::gram_lower(float, MatrixView<const float>, MatrixView<float>);
template void DeviceLibraries::gram_lower(double, MatrixView<const double>, MatrixView<double>);

}  // namespace kedge::engine
