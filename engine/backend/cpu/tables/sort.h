// Sorting and selecting numbers on one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/core/stop.h"

namespace kedge::engine {

// Ascending, without NaN; by digits of 11 bits from the lowest, skipping those that all numbers share. O(n).
template <class T>
class RadixSorter {
 public:
  void sort(T* values, std::int64_t n) {
    if (n < kFewest) return std::sort(values, values + n);
    keys_.resize(static_cast<std::size_t>(n)), other_.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) keys_[static_cast<std::size_t>(i)] = key(values[i]);
    for (int shift = 0; shift < kKeyBits; shift += kDigitBits) pass(shift);
    for (std::int64_t i = 0; i < n; ++i) values[i] = value(keys_[static_cast<std::size_t>(i)]);
  }

 private:
  using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int kKeyBits = 8 * sizeof(Key), kDigitBits = 11;
  static constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  static constexpr std::int64_t kFewest = 700;
  static constexpr Key kSign = Key{1} << (kKeyBits - 1);

  // Keys order as the numbers do: negative ones have all bits turned, the others the sign alone.
  static Key key(T v) {
    const Key bits = std::bit_cast<Key>(v);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  static T value(Key k) { return std::bit_cast<T>((k & kSign) != 0 ? k & ~kSign : ~k); }

  void pass(int shift) {
    check_job_stop();
    counts_.assign(kDigits, 0);
    for (const Key k : keys_) ++counts_[(k >> shift) & (kDigits - 1)];
    if (counts_[(keys_[0] >> shift) & (kDigits - 1)] == keys_.size()) return;
    std::size_t first = 0;
    for (std::size_t& count : counts_) {
      const std::size_t own = count;
      count = first, first += own;
    }
    for (const Key k : keys_) other_[counts_[(k >> shift) & (kDigits - 1)]++] = k;
    keys_.swap(other_);
  }

  std::vector<Key> keys_, other_;
  std::vector<std::size_t> counts_;
};

// Puts the numbers of the given ranks (ascending) in [first, last) where sorting would; `values` is the start of the whole.
template <class T>
void place_ranks(T* values, std::int64_t first, std::int64_t last, const std::int64_t* ranks, std::int64_t n_ranks) {
  if (n_ranks == 0 || last - first < 2) return;
  const std::int64_t middle = n_ranks / 2, rank = ranks[middle];
  std::nth_element(values + first, values + rank, values + last);
  place_ranks(values, first, rank, ranks, middle);
  place_ranks(values, rank + 1, last, ranks + middle + 1, n_ranks - middle - 1);
}

}  // namespace kedge::engine
