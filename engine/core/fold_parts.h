// Folds that part the rows, and what a search makes for all of them at once.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/work_cache.h"

namespace kedge::engine {

// Folds that together test every row once, each trained on all other rows, both in ascending order.
struct FoldParts {
  std::vector<std::int32_t> fold_of_row;
  WorkCache work;   // of all folds; the contents of one fold mean nothing here
};

// Those that a fold with this cache is one of; null if its search has none.
inline FoldParts* fold_parts(WorkCache& of_fold, FoldParts* given = nullptr) {
  return *of_fold.get<FoldParts*>("fold parts", "", [&] { return given; });
}

}   // namespace kedge::engine
