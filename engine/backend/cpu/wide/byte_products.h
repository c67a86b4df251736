// Scores of rows of bytes against blocks of points: four times the multiply-adds of float where the CPU has AVX-512 VNNI.
#pragma once

#include <cstdint>

namespace kedge::engine {

inline constexpr std::int64_t kByteBlock = 64, kByteRows = 6;   // points and queries at once

bool has_byte_products();   // of this CPU; otherwise nothing else here may be called

// Of up to kByteRows queries (words of four signed columns) with a block of points (for each word, four unsigned bytes of each):
// scores[m][p] = norms[p] - 2 * (query m times point p); bit p of hits[m]: that is at most limits[m].
void score_rows(std::int64_t rows, const std::uint8_t* block, std::int64_t words, const std::int8_t* queries,
                const std::int32_t* norms, const std::int32_t* limits, std::int32_t (*scores)[kByteBlock], std::uint64_t* hits);
// Of one query's scores, bit p: scores[p] + offset is at most limits[p].
std::uint64_t columns_within(const std::int32_t* scores, std::int32_t offset, const std::int32_t* limits);

// exact_distance() of a row, widened, and the row of values middle + step * level (fused, and rounded to float if is_float): an eighth
// or a quarter of the memory to read, which is what takes the time.
double level_distance(const double* row, const std::int8_t* levels, std::int64_t d, double middle, double step, bool is_float);

}   // namespace kedge::engine
