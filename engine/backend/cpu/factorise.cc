// Eigen, singular value, QR and Cholesky decompositions on the CPU: LAPACK, but for small eigenproblems, on one thread, so that results
// do not depend on the number of threads. LAPACK is column-major: it sees the transpose of every matrix here.
#include <algorithm>
#include <vector>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/small_eigh.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

template <class T>
void require_dense(MatrixView<T> A, const char* op) {
  require(A.rows <= 1 || A.stride == A.cols, schema::ErrorCode::kInternal, "{}: rows are {} apart, must be {}: no padding", op, A.stride, A.cols);
  require(A.rows < (1 << 30) && A.cols < (1 << 30), schema::ErrorCode::kInternal, "{}: {} x {} is too large for LAPACK", op, A.rows, A.cols);
}

constexpr std::int64_t kFewVectors = 2, kManyRows = 32;   // few vectors of more rows than these LAPACK finds sooner, as it finds them alone

// All are found; what is kept moves to the front.
template <class T>
bool eigh_small(MatrixView<T> A, VectorView<T> w) {
  T values[kSmallEigh];
  if (A.rows > kSmallEigh || (w.size <= kFewVectors && A.rows > kManyRows)) return false;
  if (!small_eigh<T>(A, {values, A.rows})) return false;
  const std::int64_t left_out = A.rows - w.size;
  std::copy_n(values + left_out, w.size, w.data);
  if (left_out > 0) std::copy_n(A.data + left_out * A.rows, w.size * A.rows, A.data);
  return true;
}

// By relatively robust representations, which find some eigenvectors without the others.
template <class T>
void eigh_leading(MatrixView<T> A, VectorView<T> w) {
  const int n = static_cast<int>(A.rows), low = static_cast<int>(A.rows - w.size) + 1;
  std::vector<T> values(static_cast<std::size_t>(n)), vectors(static_cast<std::size_t>(n * w.size));
  std::vector<int> support(2 * static_cast<std::size_t>(n));
  T size = 0;
  int isize = 0, info = 0;
  blas::syevr(n, A.data, low, values.data(), vectors.data(), support.data(), &size, -1, &isize, -1, &info);
  std::vector<T> work(static_cast<std::size_t>(size * T(1.01)) + 64);
  std::vector<int> iwork(static_cast<std::size_t>(isize));
  blas::syevr(n, A.data, low, values.data(), vectors.data(), support.data(), work.data(), static_cast<int>(work.size()), iwork.data(), isize,
              &info);
  blas::check(info, "syevr");
  std::copy_n(values.begin(), w.size, w.data);
  std::copy(vectors.begin(), vectors.end(), A.data);
}

}  // namespace

template <class T>
void CpuLinear<T>::eigh(MatrixView<T> A, VectorView<T> w) {
  require_dense(A, "eigh");
  const int n = static_cast<int>(A.rows);
  if (w.size == 0) return;
  if (eigh_small(A, w)) return;
  const OneThread one;
  if (w.size < A.rows) return eigh_leading(A, w);
  T size = 0;
  int isize = 0, info = 0;
  blas::syevd(n, A.data, w.data, &size, -1, &isize, -1, &info);
  std::vector<T> work(static_cast<std::size_t>(size * T(1.01)) + 64);
  std::vector<int> iwork(static_cast<std::size_t>(isize));
  blas::syevd(n, A.data, w.data, work.data(), static_cast<int>(work.size()), iwork.data(), isize, &info);   // columns of A' are rows of A
  blas::check(info, "syevd");
}

template <class T>
void CpuLinear<T>::svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) {
  require_dense(A, "svd"), require_dense(U, "svd"), require_dense(Vt, "svd");
  const int m = static_cast<int>(A.rows), n = static_cast<int>(A.cols), r = std::min(m, n);
  if (r == 0) return;
  const OneThread one;   // A' = V S U': what LAPACK calls U are our Vt's rows, and the other way round
  T size = 0;
  int info = 0;
  std::vector<int> iwork(static_cast<std::size_t>(8) * static_cast<std::size_t>(r));
  blas::gesdd(n, m, A.data, n, s.data, Vt.data, n, U.data, r, &size, -1, iwork.data(), &info);
  std::vector<T> work(static_cast<std::size_t>(size * T(1.01)) + 64);   // a float cannot hold every integer
  blas::gesdd(n, m, A.data, n, s.data, Vt.data, n, U.data, r, work.data(), static_cast<int>(work.size()), iwork.data(), &info);
  blas::check(info, "gesdd");
}

template <class T>
void CpuLinear<T>::orthonormalize(MatrixView<T> A) {
  require_dense(A, "orthonormalize");
  const int m = static_cast<int>(A.rows), n = static_cast<int>(A.cols);
  require(m >= n, schema::ErrorCode::kInternal, "orthonormalize: {} rows, must be at least the {} columns", m, n);
  if (n == 0) return;
  const OneThread one;   // A' = L Q: the rows of Q are our columns
  std::vector<T> tau(static_cast<std::size_t>(n)), work(static_cast<std::size_t>(n) * 64);
  int info = 0;
  blas::gelqf(n, m, A.data, n, tau.data(), work.data(), static_cast<int>(work.size()), &info);
  blas::check(info, "gelqf");
  blas::orglq(n, m, n, A.data, n, tau.data(), work.data(), static_cast<int>(work.size()), &info);
  blas::check(info, "orglq");
}

template <class T>
bool CpuLinear<T>::solve_positive(MatrixView<T> A, MatrixView<T> B) {
  require_dense(A, "solve_positive");
  const int n = static_cast<int>(A.rows), m = static_cast<int>(B.cols), stride = static_cast<int>(B.stride);
  if (n == 0) return true;
  const OneThread one;
  if (blas::potrf(n, A.data) != 0) return false;
  blas::trsm_upper(Transpose::kYes, n, m, A.data, n, B.data, stride);
  blas::trsm_upper(Transpose::kNo, n, m, A.data, n, B.data, stride);
  return true;
}

template class CpuLinear<float>;
template class CpuLinear<double>;

}  // namespace kedge::engine
