// Rows in the order of a number, which ranking metrics and weighted medians walk through.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace kedge::engine {

// A row, and its number as an integer of the same or the opposite order.
struct RankedRow {
  std::uint64_t key;
  std::uint32_t row;
  std::uint32_t positive = 0;   // 1 if the row is of the class that is looked for
};

// Order-reversing map of doubles to integers; -0 and 0 get one key. NaN has no place: refuse it before.
inline std::uint64_t falling_key(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);
  return (bits >> 63) != 0 ? bits : ~(bits | (std::uint64_t{1} << 63));
}
inline std::uint64_t rising_key(double value) { return ~falling_key(value); }
// The number of a falling key.
inline double score_of_key(std::uint64_t key) {
  return std::bit_cast<double>((key >> 63) != 0 ? key : ~key & ~(std::uint64_t{1} << 63));
}

// Sorts by key, rows of one key in their former order. Radix sort beyond a few thousand rows: linear, one scratch copy.
void sort_by_key(std::vector<RankedRow>& rows);

}  // namespace kedge::engine
