// Least squares on a triangle: what is left to do of a regression once its rows are factorised. Host, double, columns few.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

// R (p x p, row-major, upper triangle) of a design with d columns and then targets, cut to R's first d columns and rows.
std::vector<double> leading_square(std::span<const double> R, std::int64_t p, std::int64_t d);

// U diag(s) Vt, all on the host; U m x r, Vt r x n, r = min(m, n).
struct Decomposition {
  std::vector<double> U, s, Vt;
};
Decomposition decompose(const Context& ctx, std::span<const double> A, std::int64_t rows, std::int64_t cols);

// R w = z by back substitution, R d x d; sums in long double.
std::vector<double> back_substitute(std::span<const double> R, std::span<const double> z);

// The shortest w = scale * v of all v that minimise |R v - z|, where singular values of R up to cutoff times the largest count as
// 0. `rank` is how many do not.
std::vector<double> shortest_solution(const Context& ctx, std::span<const double> R, std::span<const double> z,
                                      const std::vector<double>& scale, double cutoff, std::int64_t& rank);

// min |A w - b|, w >= 0, A n x n row-major (a triangle, as a rule). Source: Lawson and Hanson, Solving Least Squares Problems,
// algorithm NNLS. Cost: O(n^2) a step, and about as many steps as there are positive coefficients. Errors: kCancelled.
std::vector<double> nonnegative_least_squares(const Context& ctx, std::span<const double> A, std::span<const double> b);

}   // namespace kedge::engine
