// Covariance matrices pulled towards a multiple of the unit matrix, and what says how far.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

// The share of Ledoit and Wolf for n centred rows with the covariance S (n in the denominator, d x d) and fourth powers
// sum |x|^4. Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", Journal
// of Multivariate Analysis 88, 2004.
double ledoit_wolf_share(const std::vector<double>& S, std::int64_t d, double n, double fourth_powers);

// The share of oracle approximating shrinkage. Source: Chen, Wiesel, Eldar and Hero, "Shrinkage algorithms for MMSE
// covariance estimation", IEEE Transactions on Signal Processing 58, 2010.
double oas_share(const std::vector<double>& S, std::int64_t d, double n);

// S = (1 - share) S + share trace(S) / d I.
void shrink(std::vector<double>& S, std::int64_t d, double share);

// The sum of |x|^4 over the rows of a design, which are centred by it.
template <class T>
double fourth_powers(const Context& ctx, const Design<T>& design);

}   // namespace kedge::engine
