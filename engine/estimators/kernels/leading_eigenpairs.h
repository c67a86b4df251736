// The largest eigenvalues of a symmetric matrix and their vectors, where few of them are wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

struct Eigenpairs {
  std::vector<double> values;    // descending
  std::vector<double> vectors;   // a row each, of length 1
};

// By products of A (n x n, device, overwritten) with blocks of vectors, each orthogonal to those before, until the
// residuals are rounding; where that takes long, or many pairs are wanted, by a decomposition of A. The same draws on
// every device. Cost: some 10 products with count + 8 vectors, or n^3. Errors: kCancelled. Source: Golub and Underwood,
// "The block Lanczos method for computing eigenvalues", Mathematical Software III, 1977.
Eigenpairs leading_eigenpairs(const Context& ctx, Matrix<double> A, std::int64_t count);

}   // namespace kedge::engine
