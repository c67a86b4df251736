// Adding up what tiles have summed, on the CPU.
#pragma once

#include <cstdint>

namespace kedge::engine {

// total[e] = the sum of tables[t * entries + e], t < n_tables <= kMostTerms, exact and rounded once: see exact_sum.h.
// Reads the tables twice.
void add_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, double* total);

// The steps of that sum, for tables of which others have a part: the largest magnitude_bits() of each entry; the
// integers of each, high, middle and low together, for the largest of all parts; the rounded sum of all parts'
// integers. They do not look whether the job is to stop, and do not fail.
void largest_of_tables(const double* tables, std::int64_t n_tables, std::int64_t entries,
                       std::int64_t* largest) noexcept;
void limbs_of_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, const std::int64_t* largest,
                     std::int64_t* limbs) noexcept;
void round_tables(const std::int64_t* largest, const std::int64_t* limbs, std::int64_t entries, double* total) noexcept;

}   // namespace kedge::engine
