// cuBLAS. Row-major matrices are what column-major cuBLAS sees as their transposes: C = A B is computed as C' = B' A'.
#include "engine/backend/cuda/native/handles.h"
#include "engine/backend/raw.h"

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
struct Pieces {
  long long a_step, b_step, c_step;
  int count;
};
cublasStatus_t call_pieces(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                           const float* a, int lda, const float* b, int ldb, float* c, int ldc, const Pieces& p) {
  const float one = 1, zero = 0;
  return cublasSgemmStridedBatched(h, ta, tb, m, n, k, &one, a, lda, p.a_step, b, ldb, p.b_step, &zero, c, ldc,
                                   p.c_step, p.count);
}
cublasStatus_t call_pieces(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                           const double* a, int lda, const double* b, int ldb, double* c, int ldc, const Pieces& p) {
  const double one = 1, zero = 0;
  return cublasDgemmStridedBatched(h, ta, tb, m, n, k, &one, a, lda, p.a_step, b, ldb, p.b_step, &zero, c, ldc,
                                   p.c_step, p.count);
}

}  // namespace

template <class T>
void DeviceLibraries::gemm(bool transpose_a, bool transpose_b, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C) {
  const auto flag = [](bool t) { return t ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const std::int64_t k = transpose_a ? A.rows : A.cols;
  KEDGE_CHECK(call_gemm(impl_->blas(), flag(transpose_b), flag(transpose_a), as_int(C.cols), as_int(C.rows), as_int(k),
                        &alpha, raw(B), as_int(B.stride), raw(A), as_int(A.stride), &beta, raw(C), as_int(C.stride)));
}

template <class T>
void DeviceLibraries::gemm_pieces(bool transpose_a, bool transpose_b, MatrixView<const T> A, std::int64_t a_step,
                                  MatrixView<const T> B, std::int64_t b_step, std::int64_t count, T* C) {
  const auto flag = [](bool t) { return t ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const std::int64_t m = transpose_a ? A.cols : A.rows, k = transpose_a ? A.rows : A.cols,
                     n = transpose_b ? B.rows : B.cols;
  KEDGE_CHECK(call_pieces(impl_->blas(), flag(transpose_b), flag(transpose_a), as_int(n), as_int(m), as_int(k), raw(B),
                          as_int(B.stride), raw(A), as_int(A.stride), C, as_int(n),
                          {b_step, a_step, m * n, as_int(count)}));
}

template void DeviceLibraries::gemm(bool, bool, float, MatrixView<const float>, MatrixView<const float>, float, MatrixView<float>);
template void DeviceLibraries::gemm(bool, bool, double, MatrixView<const double>, MatrixView<const double>, double, MatrixView<double>);
template void DeviceLibraries::gemm_pieces(bool, bool, MatrixView<const float>, std::int64_t, MatrixView<const float>,
                                           std::int64_t, std::int64_t, float*);
template void DeviceLibraries::gemm_pieces(bool, bool, MatrixView<const double>, std::int64_t, MatrixView<const double>,
                                           std::int64_t, std::int64_t, double*);

}  // namespace kedge::engine
