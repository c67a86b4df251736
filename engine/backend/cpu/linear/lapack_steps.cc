// Loops over LAPACK's panels: see lapack_steps.h. Block sizes are those of LAPACK's ILAENV.
#include "engine/backend/cpu/linear/lapack_steps.h"

#include <algorithm>
#include <vector>

#include "engine/backend/cpu/linear/lapack_panels.h"
#include "engine/backend/cpu/rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 32, kNarrowBlock = 8;   // columns of a panel
constexpr std::int64_t kLongPanel = 1 << 18;            // rows from which a panel of kBlock columns takes too long
constexpr std::int64_t kTridiagonalReads = std::int64_t{1} << 27;   // numbers that one panel reads: a tenth of a second
constexpr std::int64_t kBidiagonalReads = std::int64_t{1} << 26;    // here each column of it reads all of them twice
constexpr std::int64_t kUnblocked = 128;                            // the last columns of a bidiagonal form
constexpr std::int64_t kPieceEntries = std::int64_t{1} << 21;       // of what reflectors are applied to at once
constexpr std::int64_t kFewestInPiece = 32, kMostInPiece = 512;
constexpr std::int64_t kCholeskyBlock = 512, kLargeCholesky = 1024;
constexpr std::int64_t kFlopsPerNs = 16;

enum class Reflectors { kColumns, kRows };   // of a QR, applied from the left; of an LQ, applied from the right

int as_int(std::int64_t n) {
  return static_cast<int>(n);
}   // sizes were checked before
std::size_t as_size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

std::int64_t block_of(std::int64_t length) {
  return length > kLongPanel ? kNarrowBlock : kBlock;
}
std::int64_t narrowed(std::int64_t reads, std::int64_t entries) {
  return reads / std::max<std::int64_t>(entries, 1) >= kBlock ? kBlock : std::max(kNarrowBlock, reads / entries);
}

// The triangle that makes k reflectors one block.
template <class T>
std::vector<T> triangle_of(Reflectors kind, ColumnMajor<T> V, std::int64_t k, const T* tau) {
  std::vector<T> t(as_size(kBlock * kBlock));
  const int length = as_int(kind == Reflectors::kColumns ? V.rows : V.cols), n = as_int(k), ld = as_int(V.ld),
            block = as_int(kBlock);
  const OneThread one;
  Panels<T>::larft("F", kind == Reflectors::kColumns ? "C" : "R", &length, &n, V.data, &ld, tau, t.data(), &block);
  return t;
}

// C = H C or C H for a block H of k reflectors, or its transpose; by pieces of C that do not meet, on all threads.
template <class T>
void reflect(Reflectors kind, bool transposed, ColumnMajor<T> V, std::int64_t k, const T* t, int ld_t,
             ColumnMajor<T> C) {
  const bool left = kind == Reflectors::kColumns;
  const std::int64_t length = left ? C.rows : C.cols, others = left ? C.cols : C.rows,
                     piece =
                         std::clamp(kPieceEntries / std::max<std::int64_t>(length, 1), kFewestInPiece, kMostInPiece);
  for_tiles(others, piece, 4 * length * k * others / kFlopsPerNs,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) {
              const ColumnMajor<T> part =
                  left ? C.from(0, begin).first_columns(end - begin) : C.from(begin, 0).first_rows(end - begin);
              std::vector<T> work(as_size((end - begin) * k));
              const int m = as_int(part.rows), n = as_int(part.cols), n_reflectors = as_int(k), ld_v = as_int(V.ld),
                        ld = as_int(C.ld), ld_work = as_int(end - begin);
              Panels<T>::larfb(left ? "L" : "R", transposed ? "T" : "N", "F", left ? "C" : "R", &m, &n, &n_reflectors,
                               V.data, &ld_v, t, &ld_t, part.data, &ld, work.data(), &ld_work);
            });
}

template <class T>
void factor(Reflectors kind, ColumnMajor<T> A, T* tau) {
  const bool by_columns = kind == Reflectors::kColumns;
  const std::int64_t r = std::min(A.rows, A.cols), block = block_of(by_columns ? A.rows : A.cols);
  std::vector<T> work(as_size(kBlock));
  for (std::int64_t i = 0; i < r; i += block) {
    check_job_stop();
    const std::int64_t k = std::min(block, r - i);
    const ColumnMajor<T> V = A.from(i, i);
    const int m = as_int(by_columns ? V.rows : k), n = as_int(by_columns ? k : V.cols), ld = as_int(A.ld);
    int info = 0;
    {
      const OneThread one;
      (by_columns ? Panels<T>::geqr2 : Panels<T>::gelq2)(&m, &n, V.data, &ld, tau + i, work.data(), &info);
    }
    const ColumnMajor<T> rest = by_columns ? V.from(0, k) : V.from(k, 0);
    if (rest.rows > 0 && rest.cols > 0)
      reflect(kind, by_columns, V, k, triangle_of(kind, V, k, tau + i).data(), as_int(kBlock), rest);
  }
}

// C = Q C, or C Q: the last block of reflectors first.
template <class T>
void multiply(Reflectors kind, ColumnMajor<T> A, std::int64_t k, const T* tau, ColumnMajor<T> C) {
  const bool by_columns = kind == Reflectors::kColumns;
  if (C.rows == 0 || C.cols == 0) return;
  for (std::int64_t i = (k - 1) / kBlock * kBlock; k > 0 && i >= 0; i -= kBlock) {
    const std::int64_t some = std::min(kBlock, k - i);
    const ColumnMajor<T> V = A.from(i, i);
    reflect(kind, !by_columns, V, some, triangle_of(kind, V, some, tau + i).data(), as_int(kBlock),
            by_columns ? C.from(i, 0) : C.from(0, i));
  }
}

// C -= P S', or P S where S is given by rows.
template <class T>
void subtract_product(ColumnMajor<T> C, std::int64_t k, const T* p, std::int64_t ld_p, CBLAS_TRANSPOSE trans,
                      const T* s, std::int64_t ld_s) {
  Panels<T>::gemm(CblasColMajor, CblasNoTrans, trans, as_int(C.rows), as_int(C.cols), as_int(k), T{-1}, p, as_int(ld_p),
                  s, as_int(ld_s), T{1}, C.data, as_int(C.ld));
}

// L21 = A21 L11^-T of a block of the Cholesky decomposition.
template <class T>
void solve_below(ColumnMajor<T> L, ColumnMajor<T> below) {
  for_tiles(below.rows, kMostInPiece, below.rows * L.rows * L.rows / kFlopsPerNs,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) {
              Panels<T>::trsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, as_int(end - begin),
                              as_int(L.rows), T{1}, L.data, as_int(L.ld), below.at(begin, 0), as_int(below.ld));
            });
}

// The lower triangle of rest -= L21 L21', by square tiles.
template <class T>
void subtract_square(ColumnMajor<T> below, ColumnMajor<T> rest) {
  const std::int64_t side = tiles_of(rest.rows, kMostInPiece);
  for_tiles(side * side, 1, below.cols * rest.rows * rest.rows / kFlopsPerNs,
            [&](std::int64_t tile, std::int64_t, std::int64_t) {
              const std::int64_t i = tile / side * kMostInPiece, j = tile % side * kMostInPiece;
              if (j > i) return;
              const std::int64_t rows = std::min(kMostInPiece, rest.rows - i);
              if (i == j)
                Panels<T>::syrk(CblasColMajor, CblasLower, CblasNoTrans, as_int(rows), as_int(below.cols), T{-1},
                                below.at(i, 0), as_int(below.ld), T{1}, rest.at(i, i), as_int(rest.ld));
              else
                subtract_product(ColumnMajor<T>{rest.at(i, j), rows, kMostInPiece, rest.ld}, below.cols, below.at(i, 0),
                                 below.ld, CblasTrans, below.at(j, 0), below.ld);
            });
}

}   // namespace

template <class T>
void factor_qr(ColumnMajor<T> A, T* tau) {
  factor(Reflectors::kColumns, A, tau);
}

template <class T>
void factor_lq(ColumnMajor<T> A, T* tau) {
  factor(Reflectors::kRows, A, tau);
}

template <class T>
void factor_r(ColumnMajor<T> A) {
  const std::int64_t r = std::min(A.rows, A.cols), block = std::min(kBlock, r);
  std::vector<T> t(as_size(block * block));
  for (std::int64_t i = 0; i < r; i += block) {
    check_job_stop();
    const std::int64_t k = std::min(block, r - i);
    const ColumnMajor<T> V = A.from(i, i);
    const int m = as_int(V.rows), n = as_int(k), ld = as_int(A.ld), ld_t = as_int(block);
    int info = 0;
    {
      const OneThread one;
      Panels<T>::geqrt3(&m, &n, V.data, &ld, t.data(), &ld_t, &info);
    }
    if (V.cols > k) reflect(Reflectors::kColumns, true, V, k, t.data(), ld_t, V.from(0, k));
  }
}

template <class T>
void multiply_by_qr(ColumnMajor<T> A, std::int64_t k, const T* tau, ColumnMajor<T> C) {
  multiply(Reflectors::kColumns, A, k, tau, C);
}

template <class T>
void multiply_by_lq(ColumnMajor<T> A, std::int64_t k, const T* tau, ColumnMajor<T> C) {
  multiply(Reflectors::kRows, A, k, tau, C);
}

template <class T>
void form_lq(ColumnMajor<T> A, const T* tau) {
  const std::int64_t block = block_of(A.cols);
  std::vector<T> work(as_size(kBlock));
  for (std::int64_t i = (A.rows - 1) / block * block; i >= 0; i -= block) {
    check_job_stop();
    const std::int64_t k = std::min(block, A.rows - i);
    const ColumnMajor<T> V = A.from(i, i);
    if (V.rows > k)
      reflect(Reflectors::kRows, true, V, k, triangle_of(Reflectors::kRows, V, k, tau + i).data(), as_int(kBlock),
              V.from(k, 0));
    const int m = as_int(k), n = as_int(V.cols), ld = as_int(A.ld);
    int info = 0;
    const OneThread one;
    Panels<T>::orgl2(&m, &n, &m, V.data, &ld, tau + i, work.data(), &info);
    for (std::int64_t j = 0; j < i; ++j) std::fill_n(A.at(i, j), k, T{0});
  }
}

template <class T>
void to_tridiagonal(ColumnMajor<T> A, T* d, T* e, T* tau) {
  const std::int64_t n = A.rows;
  const int ld = as_int(A.ld), ld_work = as_int(n);
  std::vector<T> work(as_size(n * kBlock));
  const OneThread one;
  std::int64_t i = 0;
  for (std::int64_t block = kBlock; i + kBlock < n; i += block) {
    check_job_stop();
    const ColumnMajor<T> part = A.from(i, i);
    block = narrowed(kTridiagonalReads, part.rows * part.rows);
    const int size = as_int(part.rows), columns = as_int(block);
    Panels<T>::latrd("L", &size, &columns, part.data, &ld, e + i, tau + i, work.data(), &ld_work);
    const ColumnMajor<T> rest = part.from(block, block);
    Panels<T>::syr2k(CblasColMajor, CblasLower, CblasNoTrans, as_int(rest.rows), columns, T{-1}, part.at(block, 0), ld,
                     work.data() + block, ld_work, T{1}, rest.data, ld);
    for (std::int64_t j = i; j < i + block; ++j) *A.at(j + 1, j) = e[j], d[j] = *A.at(j, j);
  }
  const int size = as_int(n - i);
  int info = 0;
  Panels<T>::sytd2("L", &size, A.at(i, i), &ld, d + i, e + i, tau + i, &info);
}

template <class T>
void to_bidiagonal(ColumnMajor<T> A, T* d, T* e, T* tauq, T* taup) {
  const std::int64_t r = std::min(A.rows, A.cols);
  const int ld = as_int(A.ld), ld_x = as_int(A.rows), ld_y = as_int(A.cols);
  std::vector<T> x(as_size(A.rows * kBlock)), y(as_size(A.cols * kBlock));
  const OneThread one;
  std::int64_t i = 0;
  for (std::int64_t block = kBlock; i + kUnblocked < r; i += block) {
    check_job_stop();
    const ColumnMajor<T> part = A.from(i, i);
    block = narrowed(kBidiagonalReads, part.rows * part.cols);
    const int m = as_int(part.rows), n = as_int(part.cols), columns = as_int(block);
    Panels<T>::labrd(&m, &n, &columns, part.data, &ld, d + i, e + i, tauq + i, taup + i, x.data(), &ld_x, y.data(),
                     &ld_y);
    const ColumnMajor<T> rest = part.from(block, block);
    subtract_product(rest, block, part.at(block, 0), A.ld, CblasTrans, y.data() + block, A.cols);
    subtract_product(rest, block, x.data() + block, A.rows, CblasNoTrans, part.at(0, block), A.ld);
    for (std::int64_t j = i; j < i + block; ++j) {
      *A.at(j, j) = d[j];
      *(A.rows >= A.cols ? A.at(j, j + 1) : A.at(j + 1, j)) = e[j];
    }
  }
  const ColumnMajor<T> part = A.from(i, i);
  const int m = as_int(part.rows), n = as_int(part.cols);
  std::vector<T> work(as_size(std::max(part.rows, part.cols)));
  int info = 0;
  Panels<T>::gebd2(&m, &n, part.data, &ld, d + i, e + i, tauq + i, taup + i, work.data(), &info);
}

template <class T>
bool factor_cholesky(ColumnMajor<T> A) {
  const std::int64_t block = A.rows <= kLargeCholesky ? std::max<std::int64_t>(A.rows, 1) : kCholeskyBlock;
  for (std::int64_t i = 0; i < A.rows; i += block) {
    check_job_stop();
    const std::int64_t k = std::min(block, A.rows - i);
    const int n = as_int(k), ld = as_int(A.ld);
    int info = 0;
    {
      const OneThread one;
      Panels<T>::potrf("L", &n, A.at(i, i), &ld, &info);
    }
    if (info != 0) return false;
    const ColumnMajor<T> part = A.from(i, i), below = part.from(k, 0).first_columns(k);
    solve_below(part.first_rows(k).first_columns(k), below);
    subtract_square(below, part.from(k, k));
  }
  return true;
}

#define KEDGE_INSTANTIATE(T)                                                            \
  template void factor_qr(ColumnMajor<T>, T*);                                          \
  template void factor_lq(ColumnMajor<T>, T*);                                          \
  template void factor_r(ColumnMajor<T>);                                               \
  template void multiply_by_qr(ColumnMajor<T>, std::int64_t, const T*, ColumnMajor<T>); \
  template void multiply_by_lq(ColumnMajor<T>, std::int64_t, const T*, ColumnMajor<T>); \
  template void form_lq(ColumnMajor<T>, const T*);                                      \
  template void to_tridiagonal(ColumnMajor<T>, T*, T*, T*);                             \
  template void to_bidiagonal(ColumnMajor<T>, T*, T*, T*, T*);                          \
  template bool factor_cholesky(ColumnMajor<T>);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine
