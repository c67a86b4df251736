// Cholesky factors of covariance matrices on the host: their sides are columns, never rows.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

// The lower triangle L with L L' = A of the symmetric A (d x d, row-major), 0 above; false if a pivot is not a positive
// number. Cost d^3 / 3.
bool lower_cholesky(const double* A, std::int64_t d, double* L);

// L^-1 of a lower triangle with a positive diagonal, 0 above. Cost d^3 / 6.
void invert_lower(const double* L, std::int64_t d, double* inverse);

// M'M of a lower triangle, both triangles.
void lower_square(const double* M, std::int64_t d, double* out);

}   // namespace kedge::engine
