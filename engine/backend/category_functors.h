// The formulas of the ops on categories and missing cells, shared by the CPU and the CUDA bodies.
#pragma once

#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

// Whether x is the value of a missing cell. NaN is equal to NaN here.
template <class T>
KEDGE_HD bool is_missing_cell(T x, T missing) {
  return x == missing || (x != x && missing != missing);
}

// The place of x among n ascending keys, or -1. Codes that are their own places, as most categories are, are found at once.
template <class T>
KEDGE_HD std::int64_t key_place(T x, const T* keys, std::int64_t n) {
  if (x >= T{0} && x < static_cast<T>(n) && keys[static_cast<std::int64_t>(x)] == x) return static_cast<std::int64_t>(x);
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (keys[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low < n && keys[low] == x ? low : -1;
}

// What a dictionary of n keys says of x.
template <class T>
KEDGE_HD T translated(T x, const T* keys, const T* values, std::int64_t n, T missing, T unknown) {
  if (x != x) return missing;
  const std::int64_t place = key_place(x, keys, n);
  return place < 0 ? unknown : values[place];
}

// Whether a position names one of `cols` columns.
template <class T>
KEDGE_HD bool is_column(T position, std::int64_t cols) {
  return position >= T{0} && position < static_cast<T>(cols);
}

}  // namespace kedge::engine
