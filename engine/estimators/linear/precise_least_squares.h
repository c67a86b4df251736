// Least squares in twice double's precision: for problems that are small, or too ill-conditioned for double.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kedge::engine {

struct PreciseSolution {
  std::vector<double> coef;   // one a column
  double intercept = 0;
};

// min |sqrt(weights) (y - X coef - intercept)| by Householder's QR with column pivoting on columns scaled by powers of two and,
// with an intercept, centred; every step has about 32 digits. X: n_rows x n_cols, row-major; y: n_rows; weights: n_rows or empty,
// not all 0. Nothing if a pivot is at most `cutoff` of the first: the columns then depend on each other. Cost: 2 n_rows n_cols^2
// multiply-adds of about 8 ns. Source: Golub and Van Loan, Matrix Computations, algorithm 5.4.1.
std::optional<PreciseSolution> precise_least_squares(std::span<const double> X, std::int64_t n_rows, std::int64_t n_cols,
                                                     std::span<const double> y, std::span<const double> weights,
                                                     bool fit_intercept, double cutoff);

}   // namespace kedge::engine
