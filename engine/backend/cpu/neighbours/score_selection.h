// Selections among the scores of a shortlist, in whole vectors: for CPUs that has_byte_products() knows.
#pragma once

#include <cstdint>

namespace kedge::engine {

// The k-th smallest of n >= k >= 1 scores, each below the largest number. Cost: n / 16 for each bit of their range.
std::int32_t kth_score(const std::int32_t* scores, std::int64_t n, std::int64_t k);

// Keeps the scores up to the limit, with their points, in their order; returns how many.
std::int64_t keep_near(std::int32_t* scores, std::int32_t* points, std::int64_t n, std::int32_t limit);

}   // namespace kedge::engine
