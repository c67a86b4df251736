// Eigen, singular value, QR and Cholesky decompositions on the CPU: LAPACK's methods, except for small eigenproblems,
// in steps between which a cancelled job ends. LAPACK is column-major: it sees the transpose of every matrix here.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/linear/lapack_steps.h"
#include "engine/backend/cpu/linear/small_eigh.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

template <class T>
void require_dense(MatrixView<T> A, const char* op) {
  require(A.rows <= 1 || A.stride == A.cols, schema::ErrorCode::kInternal,
          "{}: rows are {} apart, must be {}: no padding", op, A.stride, A.cols);
  require(A.rows < (1 << 30) && A.cols < (1 << 30), schema::ErrorCode::kInternal, "{}: {} x {} is too large for LAPACK",
          op, A.rows, A.cols);
}

constexpr std::int64_t kSolvedAtOnce = std::int64_t{1} << 28;   // multiplications of one call of trsm
constexpr std::int64_t kMultipliesPerNs = 8;
constexpr std::int64_t kFewVectors = 2,
                       kManyRows =
                           32;   // for few vectors of larger matrices, LAPACK is faster, because it computes only these

// All are found; what is kept moves to the front.
template <class T>
bool eigh_small(MatrixView<T> A, VectorView<T> w) {
  T values[kSmallEigh];
  if (A.rows > kSmallEigh || (w.size <= kFewVectors && A.rows > kManyRows)) return false;
  if (!small_eigh<T>(A, {values, A.rows})) return false;
  const std::int64_t left_out = A.rows - w.size;
  std::copy_n(values + left_out, w.size, raw(w));
  if (left_out > 0) std::copy_n(raw(A) + left_out * A.rows, w.size * A.rows, raw(A));
  return true;
}

// LAPACK sees the transpose of a row-major matrix.
template <class T>
ColumnMajor<T> transpose_of(MatrixView<T> A) {
  return {raw(A), A.cols, A.rows, A.cols};
}

// The power of two by which numbers up to `largest` are multiplied, so that their squares neither overflow nor vanish.
template <class T>
T safe_scale(T largest) {
  const T least = std::sqrt(std::numeric_limits<T>::min()) / std::numeric_limits<T>::epsilon();
  if (largest == 0 || (largest >= least && largest <= 1 / least)) return 1;
  return std::ldexp(T{1}, std::min(-std::ilogb(largest), std::numeric_limits<T>::max_exponent - 1));
}

// Multiplies all of A by its safe_scale(), which it returns. Errors: FactorisationFailed in the name of `routine` if A
// is not finite.
template <class T>
T make_safe(MatrixView<T> A, const char* routine) {
  T largest = 0;
  bool is_finite = true;
  for (const T* a = raw(A); a != raw(A) + A.size(); ++a)
    largest = std::max(largest, std::abs(*a)), is_finite = is_finite && std::isfinite(*a);
  if (!is_finite) throw FactorisationFailed("LAPACK", routine, -4);
  const T scale = safe_scale(largest);
  if (scale != 1)
    for (T* a = raw(A); a != raw(A) + A.size(); ++a) *a *= scale;
  return scale;
}

// All eigenpairs of a tridiagonal form (d and e, which are overwritten) that to_tridiagonal() left in A with `tau`; the
// w.size largest of them are kept. Row i of A becomes the vector of w[i].
template <class T>
void solve_tridiagonal(MatrixView<T> A, std::vector<T>& d, std::vector<T>& e, const std::vector<T>& tau, T scale,
                       VectorView<T> w) {
  const std::int64_t n = A.rows, m = w.size;
  std::vector<T> Z(static_cast<std::size_t>(n * n));
  {
    const OneThread one;
    std::vector<T> work(static_cast<std::size_t>(1 + 4 * n + n * n));
    std::vector<int> iwork(static_cast<std::size_t>(3 + 5 * n));
    int info = 0;
    blas::stedc(static_cast<int>(n), d.data(), e.data(), Z.data(), work.data(), static_cast<int>(work.size()),
                iwork.data(), static_cast<int>(iwork.size()), &info);
    blas::check(info, "stedc");
  }
  const ColumnMajor<T> vectors{Z.data() + (n - m) * n, n, m, n};
  if (n > 1) multiply_by_qr(transpose_of(A).from(1, 0), n - 1, tau.data(), vectors.from(1, 0));
  std::copy_n(vectors.data, m * n, raw(A));   // columns of A' are rows of A
  for (std::int64_t i = 0; i < m; ++i) raw(w)[i] = d[static_cast<std::size_t>(n - m + i)] / scale;
}

// Eigenvalues and vectors of a symmetric matrix whose tridiagonal form is solved as a whole.
template <class T>
void eigh_all(MatrixView<T> A, VectorView<T> w) {
  const T scale = make_safe(A, "stedc");
  std::vector<T> d(static_cast<std::size_t>(A.rows)), e(d), tau(d);
  to_tridiagonal(transpose_of(A), d.data(), e.data(), tau.data());
  solve_tridiagonal(A, d, e, tau, scale, w);
}

// The largest by bisection and inverse iteration, which find some without the others. Where many are alike, bisection
// may miss some, or the iteration not end; then all are found.
template <class T>
void eigh_leading(MatrixView<T> A, VectorView<T> w) {
  const std::int64_t n = A.rows, m = w.size;
  const T scale = make_safe(A, "stebz");
  std::vector<T> d(static_cast<std::size_t>(n)), e(d), tau(d), values(d), vectors(static_cast<std::size_t>(n * m)),
      work(static_cast<std::size_t>(5 * n));
  to_tridiagonal(transpose_of(A), d.data(), e.data(), tau.data());
  std::vector<int> places(static_cast<std::size_t>(2 * n)), iwork(static_cast<std::size_t>(4 * n));
  int found = 0, info = 0;
  {
    const OneThread one;
    blas::stebz(static_cast<int>(n), static_cast<int>(n - m) + 1, d.data(), e.data(), &found, values.data(),
                places.data(), work.data(), iwork.data(), &info);
    if (found == m)
      blas::stein(static_cast<int>(n), d.data(), e.data(), found, values.data(), places.data(), vectors.data(),
                  work.data(), iwork.data(), &info);
  }
  if (found != m || info > 0) return solve_tridiagonal(A, d, e, tau, scale, w);
  multiply_by_qr(transpose_of(A).from(1, 0), n - 1, tau.data(), ColumnMajor<T>{vectors.data(), n, m, n}.from(1, 0));
  std::vector<std::size_t> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });   // bisection goes block by block
  for (std::size_t i = 0; i < order.size(); ++i) {
    raw(w)[i] = values[order[i]] / scale;
    std::copy_n(vectors.begin() + static_cast<std::ptrdiff_t>(order[i]) * n, n,
                raw(A) + static_cast<std::ptrdiff_t>(i) * n);
  }
}

// A = U diag(s) Vt by its bidiagonal form; column-major, A is overwritten. U and Vt may have more rows, or columns,
// than A: those become 0.
template <class T>
void svd_of(ColumnMajor<T> A, ColumnMajor<T> U, T* s, ColumnMajor<T> Vt) {
  const std::int64_t r = std::min(A.rows, A.cols);
  const bool is_upper = A.rows >= A.cols;
  std::vector<T> e(static_cast<std::size_t>(r)), tauq(e), taup(e);
  to_bidiagonal(A, s, e.data(), tauq.data(), taup.data());
  {
    const OneThread one;
    std::vector<T> work(static_cast<std::size_t>(3 * r * r + 4 * r));
    std::vector<int> iwork(static_cast<std::size_t>(8 * r));
    int info = 0;
    blas::bdsdc(is_upper, static_cast<int>(r), s, e.data(), U.data, static_cast<int>(U.ld), Vt.data,
                static_cast<int>(Vt.ld), work.data(), iwork.data(), &info);
    blas::check(info, "bdsdc");
  }
  for (std::int64_t j = 0; j < r; ++j) std::fill_n(U.at(r, j), U.rows - r, T{0});
  for (std::int64_t j = r; j < Vt.cols; ++j) std::fill_n(Vt.at(0, j), r, T{0});
  const ColumnMajor<T> left = U.first_rows(A.rows), right = Vt.first_columns(A.cols);
  multiply_by_qr(is_upper ? A : A.from(1, 0), is_upper ? r : r - 1, tauq.data(), is_upper ? left : left.from(1, 0));
  multiply_by_lq(is_upper ? A.from(0, 1) : A, is_upper ? r - 1 : r, taup.data(), is_upper ? right.from(0, 1) : right);
}

// The upper or lower triangle of the leading r x r block of A, zeros elsewhere.
template <class T>
std::vector<T> triangle_of(ColumnMajor<T> A, std::int64_t r, bool upper) {
  std::vector<T> triangle(static_cast<std::size_t>(r * r));
  for (std::int64_t j = 0; j < r; ++j)
    std::copy_n(A.at(upper ? 0 : j, j), upper ? j + 1 : r - j, triangle.begin() + j * r + (upper ? 0 : j));
  return triangle;
}

constexpr std::int64_t kMuchLonger = 11,
                       kThanShort = 6;   // LAPACK's ratio from which a QR decomposition before the bidiagonal form pays

template <class T>
void svd_by_shape(ColumnMajor<T> A, ColumnMajor<T> U, T* s, ColumnMajor<T> Vt) {
  const std::int64_t r = std::min(A.rows, A.cols);
  if (kThanShort * std::max(A.rows, A.cols) < kMuchLonger * r || A.rows == A.cols) return svd_of(A, U, s, Vt);
  const bool is_tall = A.rows > A.cols;
  std::vector<T> tau(static_cast<std::size_t>(r));
  is_tall ? factor_qr(A, tau.data()) : factor_lq(A, tau.data());
  std::vector<T> triangle = triangle_of(A, r, is_tall);
  svd_of(ColumnMajor<T>{triangle.data(), r, r, r}, U, s, Vt);
  is_tall ? multiply_by_qr(A, r, tau.data(), U) : multiply_by_lq(A, r, tau.data(), Vt);
}

template <class T>
class CpuFactorise final : public FactoriseOps<T> {
 public:
  void eigh(MatrixView<T> A, VectorView<T> w) override {
    require_dense(A, "eigh");
    if (w.size == 0 || eigh_small(A, w)) return;
    w.size < A.rows ? eigh_leading(A, w) : eigh_all(A, w);
  }

  void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) override {
    require_dense(A, "svd"), require_dense(U, "svd"), require_dense(Vt, "svd");
    if (std::min(A.rows, A.cols) == 0) return;
    const T scale = make_safe(A, "gesdd");
    svd_by_shape(transpose_of(A), transpose_of(Vt), raw(s),
                 transpose_of(U));   // A' = V S U': what LAPACK calls U are our Vt's rows
    for (std::int64_t i = 0; i < s.size; ++i) raw(s)[i] /= scale;
  }

  void orthonormalize(MatrixView<T> A) override {
    require_dense(A, "orthonormalize");
    require(A.rows >= A.cols, schema::ErrorCode::kInternal, "orthonormalize: {} rows, must be at least the {} columns",
            A.rows, A.cols);
    if (A.cols == 0) return;
    std::vector<T> tau(static_cast<std::size_t>(A.cols));   // A' = L Q: the rows of Q are our columns
    factor_lq(transpose_of(A), tau.data());
    form_lq(transpose_of(A), tau.data());
  }

  // R of A = R'R lies in the row-major upper triangle, which LAPACK sees as the lower one.
  bool solve_positive(MatrixView<T> A, MatrixView<T> B) override {
    require_dense(A, "solve_positive");
    const std::int64_t n = A.rows;
    if (n == 0) return true;
    if (!factor_cholesky(transpose_of(A))) return false;
    const std::int64_t columns =
        std::clamp<std::int64_t>(kSolvedAtOnce / (n * n), 1, std::max<std::int64_t>(B.cols, 1));
    for_tiles(B.cols, columns, n * n * B.cols / kMultipliesPerNs,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                for (const Transpose t : {Transpose::kYes, Transpose::kNo}) {
                  blas::trsm_upper(t, static_cast<int>(n), static_cast<int>(end - begin), raw(A), static_cast<int>(n),
                                   raw(B) + begin, static_cast<int>(B.stride));
                  check_job_stop();
                }
              });
    return true;
  }
};

}   // namespace

template <class T>
std::unique_ptr<FactoriseOps<T>> make_cpu_factorise() {
  return std::make_unique<CpuFactorise<T>>();
}
template std::unique_ptr<FactoriseOps<float>> make_cpu_factorise<float>();
template std::unique_ptr<FactoriseOps<double>> make_cpu_factorise<double>();

}   // namespace kedge::engine
