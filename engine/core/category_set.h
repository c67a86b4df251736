// Sets of categories as trees have them: bits in words, asked by a cell's value, on every device.
#pragma once

#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

inline constexpr double kMostCategory = 16777216;   // XGBoost's bound of a category; LightGBM's sets are no larger here

// Bit c % 32 of word c / 32 says whether category c is in the set. A value that has no place there is not; one between
// -1 and 0 counts as 0 where cells are doubles, as in LightGBM.
KEDGE_HD inline bool is_in_category_set(const std::uint32_t* words, std::int64_t n_words, bool is_float32,
                                        double category) {
  if (!(is_float32 ? category >= 0 : category > -1) || !(category < kMostCategory)) return false;
  const auto code = static_cast<std::uint32_t>(static_cast<std::int32_t>(category));
  const std::int64_t word = code / 32;
  return word < n_words && (words[word] >> code % 32 & 1) != 0;
}

}   // namespace kedge::engine
