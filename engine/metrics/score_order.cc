// A radix sort that leaves out the digits in which all keys agree: probabilities of float32 models have few distinct ones.
#include "engine/metrics/score_order.h"

#include <algorithm>
#include <array>

namespace kedge::engine {
namespace {

constexpr int kDigitBits = 11, kDigits = 6;   // 66 bits hold a key
constexpr std::size_t kBuckets = std::size_t{1} << kDigitBits;
constexpr std::size_t kRadixRows = 4096;   // fewer are sorted faster by comparisons

std::size_t digit(std::uint64_t key, int d) { return key >> (d * kDigitBits) & (kBuckets - 1); }

using Histogram = std::array<std::size_t, kBuckets>;

void scatter(const std::vector<RankedRow>& from, std::vector<RankedRow>& to, const Histogram& counts, int d) {
  Histogram next;
  std::size_t sum = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) next[b] = sum, sum += counts[b];
  for (const RankedRow& row : from) to[next[digit(row.key, d)]++] = row;
}

void radix_sort(std::vector<RankedRow>& rows) {
  std::vector<Histogram> counts(kDigits);
  for (const RankedRow& row : rows) {
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][digit(row.key, d)];
  }
  std::vector<RankedRow> scratch(rows.size());
  for (int d = 0; d < kDigits; ++d) {
    const Histogram& histogram = counts[static_cast<std::size_t>(d)];
    if (histogram[digit(rows.front().key, d)] == rows.size()) continue;
    scatter(rows, scratch, histogram, d);
    rows.swap(scratch);
  }
}

}  // namespace

void sort_by_key(std::vector<RankedRow>& rows) {
  if (rows.size() >= kRadixRows) return radix_sort(rows);
  std::stable_sort(rows.begin(), rows.end(), [](const RankedRow& a, const RankedRow& b) { return a.key < b.key; });
}

}  // namespace kedge::engine
