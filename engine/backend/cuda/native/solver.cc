// cuSOLVER, through its 64-bit interface. It is column-major: it sees the transpose of every matrix here.
#include <algorithm>

#include "engine/backend/cuda/native/handles.h"
#include "engine/backend/factorisation_failed.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

template <class T>
constexpr cudaDataType kType = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

struct Workspace {
  Array<unsigned char> device;
  std::vector<unsigned char> host;
  Workspace(CudaRuntime& runtime, std::size_t device_bytes, std::size_t host_bytes)
      : device(runtime, static_cast<std::int64_t>(device_bytes)), host(host_bytes) {}
};

void check_info(const Array<int>& info, const char* what) {   // waits: a failure must not be found much later
  const int value = info.to_host()[0];
  if (value != 0) throw FactorisationFailed("cuSOLVER", what, value);
}

cublasStatus_t call_geam(cublasHandle_t h, int m, int n, const float* one, const float* a, int lda, const float* zero, float* c) {
  return cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, one, a, lda, zero, c, m, c, m);
}
cublasStatus_t call_geam(cublasHandle_t h, int m, int n, const double* one, const double* a, int lda, const double* zero, double* c) {
  return cublasDgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, one, a, lda, zero, c, m, c, m);
}

// to (cols x rows, row-major) = from' (from: rows x cols, row-major).
template <class T>
void transpose(cublasHandle_t blas, const T* from, std::int64_t rows, std::int64_t cols, T* to) {
  const T one = 1, zero = 0;
  KEDGE_CHECK(call_geam(blas, static_cast<int>(rows), static_cast<int>(cols), &one, from, static_cast<int>(cols), &zero, to));
}

cusolverStatus_t orgqr_size(cusolverDnHandle_t h, int m, int n, const float* a, const float* tau, int* size) {
  return cusolverDnSorgqr_bufferSize(h, m, n, n, a, m, tau, size);
}
cusolverStatus_t orgqr_size(cusolverDnHandle_t h, int m, int n, const double* a, const double* tau, int* size) {
  return cusolverDnDorgqr_bufferSize(h, m, n, n, a, m, tau, size);
}
cusolverStatus_t call_orgqr(cusolverDnHandle_t h, int m, int n, float* a, const float* tau, float* work, int size, int* info) {
  return cusolverDnSorgqr(h, m, n, n, a, m, tau, work, size, info);
}
cusolverStatus_t call_orgqr(cusolverDnHandle_t h, int m, int n, double* a, const double* tau, double* work, int size, int* info) {
  return cusolverDnDorgqr(h, m, n, n, a, m, tau, work, size, info);
}

// B (m x n, column-major) = B op(U)^-1, U upper.
cublasStatus_t call_trsm(cublasHandle_t h, cublasOperation_t t, int m, int n, const float* u, int ldu, float* b, int ldb) {
  const float one = 1;
  return cublasStrsm(h, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, t, CUBLAS_DIAG_NON_UNIT, m, n, &one, u, ldu, b, ldb);
}
cublasStatus_t call_trsm(cublasHandle_t h, cublasOperation_t t, int m, int n, const double* u, int ldu, double* b, int ldb) {
  const double one = 1;
  return cublasDtrsm(h, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, t, CUBLAS_DIAG_NON_UNIT, m, n, &one, u, ldu, b, ldb);
}

// Thin decomposition of the column-major m x n matrix A, m >= n: U (m x n), s, Vt (n x n), column-major.
template <class T>
void gesvd(CudaRuntime& runtime, cusolverDnHandle_t solver, cusolverDnParams_t params, std::int64_t m, std::int64_t n, T* A, T* U, T* s, T* Vt) {
  Array<int> info(runtime, 1);
  std::size_t device_bytes = 0, host_bytes = 0;
  KEDGE_CHECK(cusolverDnXgesvd_bufferSize(solver, params, 'S', 'S', m, n, kType<T>, A, m, kType<T>, s, kType<T>, U, m, kType<T>, Vt, n,
                                          kType<T>, &device_bytes, &host_bytes));
  Workspace work(runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXgesvd(solver, params, 'S', 'S', m, n, kType<T>, A, m, kType<T>, s, kType<T>, U, m, kType<T>,
                               Vt, n, kType<T>, raw(work.device), device_bytes, work.host.data(), host_bytes,
                               raw(info)));
  check_info(info, "gesvd");
}

}  // namespace

DeviceLibraries::Impl::Impl(CudaRuntime& of) : runtime(of) {
  if (!of.is_beside()) blas(), solver(), params();   // no job is to wait for them
}

// One handle for one stream: cuBLAS then gives the same bits whatever other streams do.
cublasHandle_t DeviceLibraries::Impl::blas() {
  if (blas_) return blas_;
  cublasHandle_t made = nullptr;
  KEDGE_CHECK(cublasCreate(&made));
  blas_ = made;
  KEDGE_CHECK(cublasSetStream(blas_, static_cast<cudaStream_t>(runtime.stream())));
  KEDGE_CHECK(cublasSetMathMode(blas_, CUBLAS_DEFAULT_MATH));   // no TF32, whatever the version's default
  KEDGE_CHECK(cublasSetAtomicsMode(blas_, CUBLAS_ATOMICS_NOT_ALLOWED));
  return blas_;
}

cusolverDnHandle_t DeviceLibraries::Impl::solver() {
  if (solver_) return solver_;
  cusolverDnHandle_t made = nullptr;
  KEDGE_CHECK(cusolverDnCreate(&made));
  solver_ = made;
  KEDGE_CHECK(cusolverDnSetStream(solver_, static_cast<cudaStream_t>(runtime.stream())));
  return solver_;
}

cusolverDnParams_t DeviceLibraries::Impl::params() {
  if (!params_) KEDGE_CHECK(cusolverDnCreateParams(&params_));
  return params_;
}

DeviceLibraries::Impl::~Impl() {   // at the process's end or after a poisoned context, when nothing can be done about a failure
  if (params_) static_cast<void>(cusolverDnDestroyParams(params_));
  if (solver_) static_cast<void>(cusolverDnDestroy(solver_));
  if (blas_) static_cast<void>(cublasDestroy(blas_));
}

DeviceLibraries::DeviceLibraries(CudaRuntime& runtime) : impl_(std::make_unique<Impl>(runtime)) {}
DeviceLibraries::~DeviceLibraries() = default;

// The w.size largest eigenvalues. The solver wants room for all of them.
template <class T>
void eigh_leading(CudaRuntime& runtime, cusolverDnHandle_t solver, cusolverDnParams_t params, MatrixView<T> A, VectorView<T> w) {
  const std::int64_t n = A.rows, low = n - w.size + 1;
  Array<T> values(runtime, n);
  Array<int> info(runtime, 1);
  T unused_low = 0, unused_high = 0;
  std::int64_t found = 0;
  std::size_t device_bytes = 0, host_bytes = 0;
  const auto vectors = CUSOLVER_EIG_MODE_VECTOR;
  const auto range = CUSOLVER_EIG_RANGE_I;
  KEDGE_CHECK(cusolverDnXsyevdx_bufferSize(solver, params, vectors, range, CUBLAS_FILL_MODE_LOWER, n, kType<T>, raw(A),
                                           n, &unused_low, &unused_high, low, n, &found, kType<T>, values.data(),
                                           kType<T>, &device_bytes, &host_bytes));
  Workspace work(runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXsyevdx(solver, params, vectors, range, CUBLAS_FILL_MODE_LOWER, n, kType<T>, raw(A), n,
                                &unused_low, &unused_high, low, n, &found, kType<T>, values.data(), kType<T>,
                                work.device.data(), device_bytes, work.host.data(), host_bytes, raw(info)));
  check_info(info, "syevdx");
  runtime.copy(raw(w), values.data(), static_cast<std::size_t>(w.size) * sizeof(T));
}

template <class T>
void DeviceLibraries::eigh(MatrixView<T> A, VectorView<T> w) {
  if (w.size < A.rows) return eigh_leading(impl_->runtime, impl_->solver(), impl_->params(), A, w);
  Array<int> info(impl_->runtime, 1);
  std::size_t device_bytes = 0, host_bytes = 0;
  const auto vectors = CUSOLVER_EIG_MODE_VECTOR;
  KEDGE_CHECK(cusolverDnXsyevd_bufferSize(impl_->solver(), impl_->params(), vectors, CUBLAS_FILL_MODE_LOWER, A.rows,
                                          kType<T>, raw(A), A.rows, kType<T>, raw(w), kType<T>, &device_bytes,
                                          &host_bytes));
  Workspace work(impl_->runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXsyevd(impl_->solver(), impl_->params(), vectors, CUBLAS_FILL_MODE_LOWER, A.rows, kType<T>,
                               raw(A), A.rows, kType<T>, raw(w), kType<T>, raw(work.device), device_bytes,
                               work.host.data(), host_bytes, raw(info)));
  check_info(info, "syevd");
}

// The row-major lower triangle is the column-major upper one: A = U'U. B (n x m, row-major) is seen as B': B' = B' U^-1 U'^-1.
template <class T>
bool DeviceLibraries::solve_positive(MatrixView<T> A, MatrixView<T> B) {
  Array<int> info(impl_->runtime, 1);
  std::size_t device_bytes = 0, host_bytes = 0;
  KEDGE_CHECK(cusolverDnXpotrf_bufferSize(impl_->solver(), impl_->params(), CUBLAS_FILL_MODE_UPPER, A.rows, kType<T>,
                                          raw(A), A.rows, kType<T>, &device_bytes, &host_bytes));
  Workspace work(impl_->runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXpotrf(impl_->solver(), impl_->params(), CUBLAS_FILL_MODE_UPPER, A.rows, kType<T>, raw(A),
                               A.rows, kType<T>, raw(work.device), device_bytes, work.host.data(), host_bytes,
                               raw(info)));
  const int failed = info.to_host()[0];
  if (failed < 0) check_info(info, "potrf");
  if (failed > 0) return false;
  for (const auto transposed : {CUBLAS_OP_N, CUBLAS_OP_T})
    KEDGE_CHECK(call_trsm(impl_->blas(), transposed, static_cast<int>(B.cols), static_cast<int>(B.rows), raw(A),
                          static_cast<int>(A.rows), raw(B), static_cast<int>(B.stride)));
  return true;
}

// gesvd wants at least as many rows as columns. A wide A is that as it lies (A' = V S U'); a tall one is transposed.
template <class T>
void DeviceLibraries::svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) {
  const std::int64_t m = A.rows, n = A.cols;
  CudaRuntime& runtime = impl_->runtime;
  if (m < n) return gesvd(runtime, impl_->solver(), impl_->params(), n, m, raw(A), raw(Vt), raw(s), raw(U));
  Array<T> a(runtime, m * n), u(runtime, m * n), vt(runtime, n * n);
  transpose(impl_->blas(), raw(A), m, n, raw(a));
  gesvd(runtime, impl_->solver(), impl_->params(), m, n, raw(a), raw(u), raw(s), raw(vt));
  transpose(impl_->blas(), raw(u), n, m, raw(U));   // column-major m x n lies as row-major n x m
  transpose(impl_->blas(), raw(vt), n, n, raw(Vt));
}

template <class T>
void DeviceLibraries::orthonormalize(MatrixView<T> A) {
  const std::int64_t m = A.rows, n = A.cols;
  CudaRuntime& runtime = impl_->runtime;
  Array<T> a(runtime, m * n), tau(runtime, n);
  Array<int> info(runtime, 1);
  transpose(impl_->blas(), raw(A), m, n, raw(a));
  std::size_t device_bytes = 0, host_bytes = 0;
  KEDGE_CHECK(cusolverDnXgeqrf_bufferSize(impl_->solver(), impl_->params(), m, n, kType<T>, a.data(), m, kType<T>,
                                          tau.data(), kType<T>, &device_bytes, &host_bytes));
  Workspace work(runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXgeqrf(impl_->solver(), impl_->params(), m, n, kType<T>, a.data(), m, kType<T>, tau.data(),
                               kType<T>, raw(work.device), device_bytes, work.host.data(), host_bytes, raw(info)));
  check_info(info, "geqrf");
  int size = 0;
  KEDGE_CHECK(orgqr_size(impl_->solver(), static_cast<int>(m), static_cast<int>(n), raw(a), raw(tau), &size));
  Array<T> buffer(runtime, size);
  KEDGE_CHECK(call_orgqr(impl_->solver(), static_cast<int>(m), static_cast<int>(n), raw(a), raw(tau), raw(buffer), size,
                         raw(info)));
  check_info(info, "orgqr");
  transpose(impl_->blas(), raw(a), n, m, raw(A));
}

template <class T>
void DeviceLibraries::triangularize(T* A, std::int64_t m, std::int64_t n) {
  CudaRuntime& runtime = impl_->runtime;
  Array<T> tau(runtime, n);
  Array<int> info(runtime, 1);
  std::size_t device_bytes = 0, host_bytes = 0;
  KEDGE_CHECK(cusolverDnXgeqrf_bufferSize(impl_->solver(), impl_->params(), m, n, kType<T>, A, m, kType<T>, tau.data(),
                                          kType<T>, &device_bytes, &host_bytes));
  Workspace work(runtime, device_bytes, host_bytes);
  KEDGE_CHECK(cusolverDnXgeqrf(impl_->solver(), impl_->params(), m, n, kType<T>, A, m, kType<T>, tau.data(), kType<T>,
                               work.device.data(), device_bytes, work.host.data(), host_bytes, raw(info)));
  check_info(info, "geqrf");
}

template void DeviceLibraries::triangularize(double*, std::int64_t, std::int64_t);
template void DeviceLibraries::eigh(MatrixView<float>, VectorView<float>);
template void DeviceLibraries::eigh(MatrixView<double>, VectorView<double>);
template void DeviceLibraries::svd(MatrixView<float>, MatrixView<float>, VectorView<float>, MatrixView<float>);
template void DeviceLibraries::svd(MatrixView<double>, MatrixView<double>, VectorView<double>, MatrixView<double>);
template void DeviceLibraries::orthonormalize(MatrixView<float>);
template void DeviceLibraries::orthonormalize(MatrixView<double>);
template bool DeviceLibraries::solve_positive(MatrixView<float>, MatrixView<float>);
template bool DeviceLibraries::solve_positive(MatrixView<double>, MatrixView<double>);

}  // namespace kedge::engine
