// OpenBLAS and LAPACK by element type. Within for_tiles, or while a OneThread lives, each call runs on the thread that
// makes it alone, so what it computes does not depend on the number of threads.
#pragma once

#include <cblas.h>

#include <cstdint>

#include "engine/backend/backend.h"
#include "engine/backend/factorisation_failed.h"

extern "C" {
void sstedc_(const char*, const int*, float*, float*, float*, const int*, float*, const int*, int*, const int*, int*);
void dstedc_(const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*, const int*,
             int*);
void sstebz_(const char*, const char*, const int*, const float*, const float*, const int*, const int*, const float*,
             const float*, const float*, int*, int*, float*, int*, int*, float*, int*, int*);
void dstebz_(const char*, const char*, const int*, const double*, const double*, const int*, const int*, const double*,
             const double*, const double*, int*, int*, double*, int*, int*, double*, int*, int*);
void sstein_(const int*, const float*, const float*, const int*, const float*, const int*, const int*, float*,
             const int*, float*, int*, int*, int*);
void dstein_(const int*, const double*, const double*, const int*, const double*, const int*, const int*, double*,
             const int*, double*, int*, int*, int*);
void sbdsdc_(const char*, const char*, const int*, float*, float*, float*, const int*, float*, const int*, float*, int*,
             float*, int*, int*);
void dbdsdc_(const char*, const char*, const int*, double*, double*, double*, const int*, double*, const int*, double*,
             int*, double*, int*, int*);
}

namespace kedge::engine::blas {

inline CBLAS_TRANSPOSE flag(Transpose t) {
  return t == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

// C = alpha op(A) op(B) + beta C; m, n, k are the sizes of C and of the sum.
inline void gemm(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                 const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                 std::int64_t ldc) {
  cblas_sgemm(CblasRowMajor, flag(ta), flag(tb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha,
              a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}
inline void gemm(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                 const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
                 std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, flag(ta), flag(tb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha,
              a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}

// The lower triangle of C = A'A + beta C; A is k x n, C n x n.
inline void syrk(std::int64_t n, std::int64_t k, const float* a, std::int64_t lda, float* c, std::int64_t ldc,
                 float beta = 0) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(n), static_cast<int>(k), 1.0f, a,
              static_cast<int>(lda), beta, c, static_cast<int>(ldc));
}
inline void syrk(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, double* c, std::int64_t ldc,
                 double beta = 0) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(n), static_cast<int>(k), 1.0, a,
              static_cast<int>(lda), beta, c, static_cast<int>(ldc));
}

// LAPACK, column-major, as in its reference; what of it is one call however large the matrix is. lapack_steps.h has the
// rest.

// All eigenvalues, ascending, and vectors (columns of z, n x n) of the tridiagonal matrix of diagonal d and subdiagonal
// e, by divide and conquer. d becomes the eigenvalues, e is overwritten; work: 1 + 4n + n^2, iwork: 3 + 5n.
inline void stedc(int n, float* d, float* e, float* z, float* work, int lwork, int* iwork, int liwork, int* info) {
  sstedc_("I", &n, d, e, z, &n, work, &lwork, iwork, &liwork, info);
}
inline void stedc(int n, double* d, double* e, double* z, double* work, int lwork, int* iwork, int liwork, int* info) {
  dstedc_("I", &n, d, e, z, &n, work, &lwork, iwork, &liwork, info);
}
// Its eigenvalues from the low-th to the n-th, counted from 1, by bisection, block by block; places: 2n, the block of
// each and the ends of blocks; work: 4n, iwork: 3n.
inline void stebz(int n, int low, const float* d, const float* e, int* found, float* w, int* places, float* work,
                  int* iwork, int* info) {
  const float unused = 0;
  int blocks = 0;
  sstebz_("I", "B", &n, &unused, &unused, &low, &n, &unused, d, e, found, &blocks, w, places, places + n, work, iwork,
          info);
}
inline void stebz(int n, int low, const double* d, const double* e, int* found, double* w, int* places, double* work,
                  int* iwork, int* info) {
  const double unused = 0;
  int blocks = 0;
  dstebz_("I", "B", &n, &unused, &unused, &low, &n, &unused, d, e, found, &blocks, w, places, places + n, work, iwork,
          info);
}
// The vectors of m eigenvalues that stebz found, into the columns of z, by inverse iteration; work: 5n, iwork: n + m.
inline void stein(int n, const float* d, const float* e, int m, const float* w, const int* places, float* z,
                  float* work, int* iwork, int* info) {
  sstein_(&n, d, e, &m, w, places, places + n, z, &n, work, iwork, iwork + n, info);
}
inline void stein(int n, const double* d, const double* e, int m, const double* w, const int* places, double* z,
                  double* work, int* iwork, int* info) {
  dstein_(&n, d, e, &m, w, places, places + n, z, &n, work, iwork, iwork + n, info);
}
// Singular values, descending, into d, and vectors of the n x n bidiagonal matrix of d and e, by divide and conquer;
// work: 3n^2 + 4n, iwork: 8n.
inline void bdsdc(bool is_upper, int n, float* d, float* e, float* u, int ldu, float* vt, int ldvt, float* work,
                  int* iwork, int* info) {
  sbdsdc_(is_upper ? "U" : "L", "I", &n, d, e, u, &ldu, vt, &ldvt, nullptr, nullptr, work, iwork, info);
}
inline void bdsdc(bool is_upper, int n, double* d, double* e, double* u, int ldu, double* vt, int ldvt, double* work,
                  int* iwork, int* info) {
  dbdsdc_(is_upper ? "U" : "L", "I", &n, d, e, u, &ldu, vt, &ldvt, nullptr, nullptr, work, iwork, info);
}

// B = op(R)^-1 B; R is n x n, upper, row-major; B n x m.
inline void trsm_upper(Transpose t, int n, int m, const float* r, int ldr, float* b, int ldb) {
  cblas_strsm(CblasRowMajor, CblasLeft, CblasUpper, flag(t), CblasNonUnit, n, m, 1.0f, r, ldr, b, ldb);
}
inline void trsm_upper(Transpose t, int n, int m, const double* r, int ldr, double* b, int ldb) {
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, flag(t), CblasNonUnit, n, m, 1.0, r, ldr, b, ldb);
}
inline void check(int info, const char* routine) {
  if (info != 0) throw FactorisationFailed("LAPACK", routine, info);
}

}   // namespace kedge::engine::blas
