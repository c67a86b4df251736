// A radix sort whose passes run on a few threads, each on a part of the keys.
#include "engine/estimators/text/term_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/core/stop.h"
#include "engine/estimators/text/blocks.h"

namespace kedge::engine::text {
namespace {

constexpr int kMostBits = 12;   // of a digit: the places that one pass writes to stay in the cache

struct Pairs {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> places;
};

void pass(const Pairs& from, Pairs& to, int shift, int bits) {
  const std::size_t n = from.keys.size(), buckets = std::size_t{1} << bits;
  const std::uint64_t mask = buckets - 1;
  std::vector<std::vector<std::size_t>> starts(static_cast<std::size_t>(host_threads()));
  for_parts(n, [&](std::size_t part, std::size_t begin, std::size_t end) {
    starts[part].assign(buckets, 0);
    for (std::size_t i = begin; i < end; ++i) ++starts[part][from.keys[i] >> shift & mask];
  });
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket)
    for (std::vector<std::size_t>& of_part : starts)
      if (!of_part.empty()) next += std::exchange(of_part[bucket], next);
  for_parts(n, [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::vector<std::size_t>& place = starts[part];
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = place[from.keys[i] >> shift & mask]++;
      to.keys[at] = from.keys[i], to.places[at] = from.places[i];
    }
  });
}

}   // namespace

void sort_by_key(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places, std::uint64_t bound) {
  const int all_bits = std::bit_width(bound), passes = (all_bits + kMostBits - 1) / kMostBits;
  if (passes == 0) return;
  const int bits = (all_bits + passes - 1) / passes;
  Pairs from{std::move(keys), std::move(places)}, to;
  to.keys.resize(from.keys.size()), to.places.resize(from.places.size());
  for (int k = 0; k < passes; ++k) {
    check_job_stop();
    pass(from, to, k * bits, bits);
    std::swap(from, to);
  }
  keys = std::move(from.keys), places = std::move(from.places);
}

void sort_columns(std::vector<std::int32_t>& columns, std::vector<std::int32_t>& spare, std::int64_t bound) {
  constexpr std::size_t kLeast = 48;   // below, comparing is faster than counting digits
  constexpr int kDigit = 8;
  constexpr std::uint32_t kMask = (1u << kDigit) - 1;
  if (columns.size() < kLeast) {
    std::ranges::sort(columns);
    return;
  }
  spare.resize(columns.size());
  const int bits = std::bit_width(static_cast<std::uint64_t>(bound));
  for (int shift = 0; shift < bits; shift += kDigit) {
    std::array<std::uint32_t, kMask + 1> place{};
    for (const std::int32_t column : columns) ++place[static_cast<std::uint32_t>(column) >> shift & kMask];
    std::uint32_t next = 0;
    for (std::uint32_t& one : place) next += std::exchange(one, next);
    std::int32_t* const out =
        spare.data();   // in a register: what is written might be the vector, for all that is known
    for (const std::int32_t column : columns)
      out[place[static_cast<std::uint32_t>(column) >> shift & kMask]++] = column;
    columns.swap(spare);
  }
}

}   // namespace kedge::engine::text
