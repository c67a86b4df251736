// The inner loops of mixtures: strips of rows, a column's values side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/mixtures.h"

namespace kedge::engine {

constexpr std::int64_t kStripRows = 12;   // three vectors of AVX2: with four rows of a factor they fill its registers
constexpr std::int64_t kMixtureTile = 240;   // rows, in whole strips
constexpr std::int64_t kTermRows = 16;       // rows whose terms are held together: in the first cache
constexpr std::int64_t kTermRoom = 3;        // numbers behind the terms of a row, for whole vectors

// A lower triangle of d x d, four rows side by side: column j of the first four, j < 4, then of the next four, j < 8,
// ... Zeros beyond the diagonal and beyond row d - 1.
std::vector<double> packed_factor(const double* factor, std::int64_t d);
// d numbers and zeros up to a multiple of four.
std::vector<double> padded_to_four(const double* values, std::int64_t d);

// strips: of d columns each, kStripRows rows side by side; rows beyond `count` are 0.
void make_strips(const double* rows, std::int64_t stride, std::int64_t count, std::int64_t d, double* strips);

// out[r] = the sum of squares of M x - offset for the rows of n strips; packed_factor(), padded_to_four().
void factor_distances(const double* packed, const double* offset, std::int64_t d, const double* strips, std::int64_t n,
                      double* out);
// out = M x in strips of d rounded up to four columns.
void apply_factor(const double* packed, std::int64_t d, const double* strips, std::int64_t n, double* out);
// out[r] = the sum of the squares of factor[j] x[j] - offset[j]; a null factor is 1. stride: columns of a strip.
void diagonal_distances(const double* factor, const double* offset, std::int64_t d, const double* strips,
                        std::int64_t stride, std::int64_t n, double* out);

// Squared distances of a tile (components x kMixtureTile) become shares; see MixtureOps::share_rows(). entropies and
// log_densities: one for each row of the tile.
void share_tile(const double* constants, std::int64_t components, double* tile, double* log_densities,
                double* entropies);

// The terms of `count` <= kTermRows rows, `stride` numbers a row with zeros from n_terms on, at least kTermRoom of
// them.
void make_terms(RowTerms terms, const double* rows, std::int64_t row_stride, std::int64_t count, std::int64_t d,
                std::int64_t stride, double* out);

}   // namespace kedge::engine
