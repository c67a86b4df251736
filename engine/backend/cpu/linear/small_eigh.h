// All eigenvalues and eigenvectors of a small symmetric matrix, where LAPACK's calls and short columns cost more than the arithmetic.
#pragma once

#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr std::int64_t kSmallEigh = 64;   // rows, at most; beyond them LAPACK's blocks win

// Row i of A (n x n, symmetric, n <= kSmallEigh, no padding) becomes the unit eigenvector of w[i], w (n) ascending. Computed in double,
// with the same bits on every CPU. False, and A as it was, if A holds a NaN, an infinity or nothing but zeros, or if the iteration does
// not end.
template <class T>
bool small_eigh(MatrixView<T> A, VectorView<T> w);

}  // namespace kedge::engine
