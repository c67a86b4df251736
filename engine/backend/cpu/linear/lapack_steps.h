// LAPACK's blocked factorisations as loops of our own over its panels, so that a cancelled job leaves a large one
// between two panels. Up to the sizes where a panel is narrowed (some 1,500 columns) the arithmetic is LAPACK's own, in
// its order. What follows a panel runs on all threads in pieces that depend on the shape alone.
#pragma once

#include <cstdint>

namespace kedge::engine {

// A column-major matrix; borrowed. Element (i, j) lies at data[i + j * ld].
template <class T>
struct ColumnMajor {
  T* data;
  std::int64_t rows, cols, ld;
  T* at(std::int64_t i, std::int64_t j) const { return data + i + j * ld; }
  // Without the first i rows and j columns.
  ColumnMajor from(std::int64_t i, std::int64_t j) const { return {at(i, j), rows - i, cols - j, ld}; }
  ColumnMajor first_columns(std::int64_t n) const { return {data, rows, n, ld}; }
  ColumnMajor first_rows(std::int64_t n) const { return {data, n, cols, ld}; }
};

// A = QR; R is in the upper triangle, the reflectors of Q below it, their factors in tau (min(rows, cols)). As
// xGEQRF.
template <class T>
void factor_qr(ColumnMajor<T> A, T* tau);
// A = LQ; L is in the lower triangle, the reflectors of Q in the rest of its rows. As xGELQF.
template <class T>
void factor_lq(ColumnMajor<T> A, T* tau);
// The same QR by recursive panels, without Q. As xGEQRT.
template <class T>
void factor_r(ColumnMajor<T> A);
// C = Q C for the first k reflectors in the columns of A. As xORMQR.
template <class T>
void multiply_by_qr(ColumnMajor<T> A, std::int64_t k, const T* tau, ColumnMajor<T> C);
// C = C Q for the first k reflectors in the rows of A. As xORMLQ.
template <class T>
void multiply_by_lq(ColumnMajor<T> A, std::int64_t k, const T* tau, ColumnMajor<T> C);
// A, as factor_lq() left it, becomes Q (rows <= cols). As xORGLQ.
template <class T>
void form_lq(ColumnMajor<T> A, const T* tau);
// A symmetric, its lower triangle read, = Q T Q'; T has diagonal d (n) and subdiagonal e (n - 1); the reflectors of Q
// are the columns of A.from(1, 0), their factors tau (n - 1). As xSYTRD.
template <class T>
void to_tridiagonal(ColumnMajor<T> A, T* d, T* e, T* tau);
// A = Q B P'; B has diagonal d (r = min(rows, cols)) and e (r - 1) above it if rows >= cols, otherwise below. As
// xGEBRD.
template <class T>
void to_bidiagonal(ColumnMajor<T> A, T* d, T* e, T* tauq, T* taup);
// The Cholesky factor in the lower triangle of A; false where a pivot is not positive. As xPOTRF.
template <class T>
bool factor_cholesky(ColumnMajor<T> A);

}   // namespace kedge::engine
