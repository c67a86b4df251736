// Sorts n-grams by their numbers, and the columns of a document.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine::text {

// keys[i] belongs to place places[i]. Ascending by key, equal keys in their order; keys are below `bound`. Radix sort
// on all threads.
void sort_by_key(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places, std::uint64_t bound);

// Ascending. Columns are not negative and below `bound`; `spare` is scratch. Few columns are compared, more are sorted
// by digits, which has no branch that depends on them.
void sort_columns(std::vector<std::int32_t>& columns, std::vector<std::int32_t>& spare, std::int64_t bound);

}   // namespace kedge::engine::text
