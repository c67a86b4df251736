// The largest eigenvalues of a symmetric matrix and their vectors, where few of them are wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

struct Eigenpairs {
  std::vector<double> values;    // descending
  std::vector<double> vectors;   // a row each, of length 1
};

inline constexpr double kRoundingResidual = 1e-12;   // of the largest eigenvalue

// Ascending values and a row of `vectors` each, turned round.
Eigenpairs descending(const std::vector<double>& values, const std::vector<double>& vectors);

// By products of A (n x n, device, overwritten) with blocks of vectors, each orthogonal to those before, until the
// residuals are rounding; where that takes long, or many pairs are wanted, by a decomposition of A. The same draws on
// every device. Cost: some 10 products with count + 8 vectors, or n^3. Errors: kCancelled. Source: Golub and Underwood,
// "The block Lanczos method for computing eigenvalues", Mathematical Software III, 1977.
Eigenpairs leading_eigenpairs(const Context& ctx, Matrix<double> A, std::int64_t count);

// out = A Y for a symmetric matrix A; Y and out have as many columns.
using SymmetricProduct = std::function<void(MatrixView<const double> Y, MatrixView<double> out)>;

// The same of a large matrix with eigenvalues in [-1, 1] by its products alone, where many lie near the largest: blocks
// are filtered by Chebyshev polynomials, and begin again from the best vectors of those before. Nothing where it would
// take more than `most_products` products with count + 8 vectors, where the residuals fall too slowly to become small
// in 30 runs, or n is small beside count. Source: Zhou, Saad, "A Chebyshev-Davidson algorithm for large
// symmetric eigenproblems", SIAM J. Matrix Anal. 29(3), 2007.
std::optional<Eigenpairs> leading_eigenpairs(const Context& ctx, std::int64_t n, std::int64_t count,
                                             const SymmetricProduct& product, double residual = kRoundingResidual,
                                             double most_products = std::numeric_limits<double>::infinity());

}   // namespace kedge::engine
