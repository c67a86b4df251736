// Sorts n-grams by their numbers: equal ones get one number, in ascending order.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine::text {

// keys[i] belongs to place places[i]. Ascending by key, equal keys in their order; keys are below `bound`. Radix sort
// on all threads.
void sort_by_key(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places, std::uint64_t bound);

}   // namespace kedge::engine::text
