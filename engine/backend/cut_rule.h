// Where a row goes at a cut that says more than a threshold, on every device.
#pragma once

#include <cstdint>

#include "engine/backend/ops/tree_walk.h"
#include "engine/core/category_set.h"
#include "engine/core/portability.h"

namespace kedge::engine {

// Sets of categories, borrowed: of set s the words from offset[s] on.
struct CutSets {
  const std::int64_t* offset;
  const std::uint32_t* words;
  bool is_float32;
};

// Whether a value goes left; flags: walk_flag. NaN goes where the node says, unless it is compared as 0.
KEDGE_HD inline bool cut_goes_left(std::uint8_t flags, bool is_strict, double threshold, std::int32_t set,
                                   const CutSets& sets, double value) {
  const bool is_missing_left = (flags & walk_flag::kMissingLeft) != 0;
  if (value != value) {
    constexpr std::uint8_t kNeverZero = walk_flag::kCategory | walk_flag::kEqual | walk_flag::kZeroIsMissing;
    if (!(flags & walk_flag::kMissingIsZero) || (flags & kNeverZero)) return is_missing_left;
    value = 0;
  }
  if (flags & walk_flag::kCategory)
    return is_in_category_set(sets.words + sets.offset[set], sets.offset[set + 1] - sets.offset[set], sets.is_float32,
                              value);
  if (flags & walk_flag::kEqual) return value == threshold;
  if ((flags & walk_flag::kZeroIsMissing) && -kWalkZeroRange <= value && value <= kWalkZeroRange)
    return is_missing_left;
  return is_strict ? value < threshold : value <= threshold;
}

}   // namespace kedge::engine
