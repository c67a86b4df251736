// Adding up what tiles have summed, on the CPU.
#pragma once

#include <cstdint>

namespace kedge::engine {

// total[e] = the sum of tables[t * entries + e], t < n_tables <= kMostTerms, exact and rounded once: see exact_sum.h.
// Reads the tables twice.
void add_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, double* total);

}   // namespace kedge::engine
