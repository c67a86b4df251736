// Products with at most 16 columns on one side: each row of the tall matrix is read once, in place. BLAS would copy it first,
// which costs more than the product.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/backend/cpu/linear/thin_kernels.h"
#include "engine/core/view.h"

namespace kedge::engine {

constexpr std::int64_t kLongestThin = 4096;   // columns of X: beyond, the thin side leaves the caches

// Where these beat BLAS for an X of n x d and k classes.
constexpr bool is_thin_rows(std::int64_t n, std::int64_t d, std::int64_t k) { return k <= kThin && d <= kLongestThin && n >= kThinRows; }
constexpr bool is_thin_columns(std::int64_t n, std::int64_t d, std::int64_t k) { return k <= kThin && d <= kLongestThin && n > d; }

// C = X B', X n x d with n >= kThinRows, B k x d, k <= kThin: sums in T with fused multiply-adds, in an order that d and k decide.
template <class T>
void thin_rows_product(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> C);

// C = Z' X, Z n x k, X n x d, k <= kThin: sums over tiles of 1024 rows in T, over the tiles in double.
// None of these depends on the number of threads.
template <class T>
void thin_columns_product(MatrixView<const T> Z, MatrixView<const T> X, MatrixView<T> C);

// What changes rows begin .. end - 1 of a matrix and returns a sum over them.
using ChangeRows = std::function<double(std::int64_t begin, std::int64_t end)>;

// Z = X B', then change() of all of Z, a few rows a call and several calls at once, then C = Z' X: the bits of both products above with one
// reading of X. Returns the sum of what change() returned.
template <class T>
double thin_pass(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> Z, const ChangeRows& change, MatrixView<T> C);

}  // namespace kedge::engine
