// The trees of a forest dealt over the ranks of a job, by their numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/backend/ops/trees.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {

// Trees [first, first + n_trees), grown by all ranks: each calls grow(first, n) for consecutive numbers of its own, and
// all get all. A tree depends on its number alone, so that the forest is that of one process, bit for bit. Errors:
// those of grow().
Forest grow_on_ranks(Ranks& ranks, std::int64_t first, std::int64_t n_trees, std::int32_t n_classes,
                     std::int64_t n_cols, const std::function<Forest(std::int64_t, std::int64_t)>& grow);

}   // namespace kedge::engine
