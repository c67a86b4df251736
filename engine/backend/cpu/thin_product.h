// Products with at most 16 columns on one side: each row of the tall matrix is read once, in place. BLAS would copy it first,
// which costs more than the product.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

constexpr std::int64_t kThin = 16;
constexpr std::int64_t kLongestThin = 4096;   // columns of X: beyond, the thin side leaves the caches
constexpr std::int64_t kFewestThinRows = 8;   // what thin_rows_product() needs

// C = X B', X n x d with n >= kFewestThinRows, B k x d, k <= kThin: every sum runs over the columns in order, in T, with fused multiply-adds.
template <class T>
void thin_rows_product(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> C);

// C = Z' X, Z n x k, X n x d, k <= kThin: sums over tiles of 1024 rows in T, over the tiles in double.
// Neither depends on the number of threads.
template <class T>
void thin_columns_product(MatrixView<const T> Z, MatrixView<const T> X, MatrixView<T> C);

}  // namespace kedge::engine
