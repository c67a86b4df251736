// The step of the multipliers between their bounds to where no pair of them violates.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

// A step d that makes s'd - d'Kd / 2 as large as it may be while d adds up to 0 in [0, first_of_second) and in the
// rest. K: n x n, symmetric, row-major, used up; s: n scores. The kernel need not be positive definite: pivots that are
// below 1e-10 of the largest diagonal value are raised to it, and then d ascends but does not end at the top. Host
// memory, one thread; n^3 / 3 operations.
std::vector<double> free_step(std::vector<double> K, std::vector<double> s, std::int64_t first_of_second);

// sums[t] += sum_i coefs[i] rows[i][t], t < n; in the order of i.
void add_multiples(std::int64_t n, const std::vector<const float*>& rows, const std::vector<double>& coefs,
                   double* sums);

}   // namespace kedge::engine
