// OpenBLAS and LAPACK by element type. Called from for_tiles, or beside a OneThread, each call runs on its own thread alone, so what it
// computes does not depend on the number of threads.
#pragma once

#include <cblas.h>

#include <cstdint>

#include "engine/backend/backend.h"
#include "engine/backend/factorisation_failed.h"

extern "C" {
void ssyevd_(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*, const int*, int*);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*, int*);
void ssyevr_(const char*, const char*, const char*, const int*, float*, const int*, const float*, const float*, const int*, const int*,
             const float*, int*, float*, float*, const int*, int*, float*, const int*, int*, const int*, int*);
void dsyevr_(const char*, const char*, const char*, const int*, double*, const int*, const double*, const double*, const int*, const int*,
             const double*, int*, double*, double*, const int*, int*, double*, const int*, int*, const int*, int*);
void sgesdd_(const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*, const int*, float*,
             const int*, int*, int*);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*, const int*,
             double*, const int*, int*, int*);
void sgelqf_(const int*, const int*, float*, const int*, float*, float*, const int*, int*);
void dgelqf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void spotrf_(const char*, const int*, float*, const int*, int*);
void dpotrf_(const char*, const int*, double*, const int*, int*);
void sorglq_(const int*, const int*, const int*, float*, const int*, const float*, float*, const int*, int*);
void dorglq_(const int*, const int*, const int*, double*, const int*, const double*, double*, const int*, int*);
void dgeqrt_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, int*);
}

namespace kedge::engine::blas {

inline CBLAS_TRANSPOSE flag(Transpose t) { return t == Transpose::kYes ? CblasTrans : CblasNoTrans; }

// C = alpha op(A) op(B) + beta C; m, n, k are the sizes of C and of the sum.
inline void gemm(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
                 std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  cblas_sgemm(CblasRowMajor, flag(ta), flag(tb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a,
              static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}
inline void gemm(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                 std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, flag(ta), flag(tb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a,
              static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}

// The lower triangle of C = A'A + beta C; A is k x n, C n x n.
inline void syrk(std::int64_t n, std::int64_t k, const float* a, std::int64_t lda, float* c, std::int64_t ldc, float beta = 0) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(n), static_cast<int>(k), 1.0f, a, static_cast<int>(lda), beta,
              c, static_cast<int>(ldc));
}
inline void syrk(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, double* c, std::int64_t ldc, double beta = 0) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(n), static_cast<int>(k), 1.0, a, static_cast<int>(lda), beta, c,
              static_cast<int>(ldc));
}

// LAPACK, column-major, as in its reference; overloads name the precision.
inline void syevd(const int n, float* a, float* w, float* work, int lwork, int* iwork, int liwork, int* info) {
  ssyevd_("V", "L", &n, a, &n, w, work, &lwork, iwork, &liwork, info);
}
inline void syevd(const int n, double* a, double* w, double* work, int lwork, int* iwork, int liwork, int* info) {
  dsyevd_("V", "L", &n, a, &n, w, work, &lwork, iwork, &liwork, info);
}
// Eigenvalues from the low-th to the n-th, ascending, counted from 1, into w (n long), their vectors into the columns of z.
inline void syevr(const int n, float* a, int low, float* w, float* z, int* support, float* work, int lwork, int* iwork, int liwork, int* info) {
  const float unused = 0;
  int found = 0;
  ssyevr_("V", "I", "L", &n, a, &n, &unused, &unused, &low, &n, &unused, &found, w, z, &n, support, work, &lwork, iwork, &liwork, info);
}
inline void syevr(const int n, double* a, int low, double* w, double* z, int* support, double* work, int lwork, int* iwork, int liwork,
                  int* info) {
  const double unused = 0;
  int found = 0;
  dsyevr_("V", "I", "L", &n, a, &n, &unused, &unused, &low, &n, &unused, &found, w, z, &n, support, work, &lwork, iwork, &liwork, info);
}
inline void gesdd(int m, int n, float* a, int lda, float* s, float* u, int ldu, float* vt, int ldvt, float* work, int lwork,
                  int* iwork, int* info) {
  sgesdd_("S", &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, info);
}
inline void gesdd(int m, int n, double* a, int lda, double* s, double* u, int ldu, double* vt, int ldvt, double* work, int lwork,
                  int* iwork, int* info) {
  dgesdd_("S", &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, info);
}
inline void gelqf(int m, int n, float* a, int lda, float* tau, float* work, int lwork, int* info) {
  sgelqf_(&m, &n, a, &lda, tau, work, &lwork, info);
}
inline void gelqf(int m, int n, double* a, int lda, double* tau, double* work, int lwork, int* info) {
  dgelqf_(&m, &n, a, &lda, tau, work, &lwork, info);
}
inline void orglq(int m, int n, int k, float* a, int lda, const float* tau, float* work, int lwork, int* info) {
  sorglq_(&m, &n, &k, a, &lda, tau, work, &lwork, info);
}
inline void orglq(int m, int n, int k, double* a, int lda, const double* tau, double* work, int lwork, int* info) {
  dorglq_(&m, &n, &k, a, &lda, tau, work, &lwork, info);
}

// The Cholesky factor R of A = R'R in its row-major upper triangle, which OpenBLAS finds faster than the lower one; what it returns is 0, or
// which pivot is not positive.
inline int potrf(int n, float* a) {
  int info = 0;
  spotrf_("L", &n, a, &n, &info);
  return info;
}
inline int potrf(int n, double* a) {
  int info = 0;
  dpotrf_("L", &n, a, &n, &info);
  return info;
}
// B = op(R)^-1 B; R is n x n, upper, row-major; B n x m.
inline void trsm_upper(Transpose t, int n, int m, const float* r, int ldr, float* b, int ldb) {
  cblas_strsm(CblasRowMajor, CblasLeft, CblasUpper, flag(t), CblasNonUnit, n, m, 1.0f, r, ldr, b, ldb);
}
inline void trsm_upper(Transpose t, int n, int m, const double* r, int ldr, double* b, int ldb) {
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, flag(t), CblasNonUnit, n, m, 1.0, r, ldr, b, ldb);
}
// Recursive QR of a column-major m x n matrix: R lies in its upper triangle.
inline void geqrt(int m, int n, int block, double* a, int lda, double* t, double* work, int* info) {
  dgeqrt_(&m, &n, &block, a, &lda, t, &block, work, info);
}

inline void check(int info, const char* routine) {
  if (info != 0) throw FactorisationFailed("LAPACK", routine, info);
}

}  // namespace kedge::engine::blas
