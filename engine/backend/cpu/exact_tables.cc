// Exact sums of tables: blocks of entries side by side, their integers in the first-level cache.
#include "engine/backend/cpu/exact_tables.h"

#include <algorithm>

#include "engine/backend/cpu/rows.h"
#include "engine/backend/exact_sum.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 256;      // entries
constexpr std::int64_t kGroup = 8;        // entries of the widest vector: loops over whole ones leave nothing over
constexpr std::int64_t kNarrow = 32;      // narrower tables are laid side by side until they are as wide as this
constexpr std::int64_t kLook = 1 << 14;   // tables between two looks whether the job is to stop
constexpr std::int64_t kTermsPerNs = 2;

struct Sums {   // of up to kBlock entries
  std::uint64_t largest[kBlock];
  double scale[kBlock];
  std::int64_t high[kBlock], middle[kBlock], low[kBlock];
};

KEDGE_CLONES void raise_largest(const double* tables, std::int64_t n, std::int64_t stride, std::int64_t width,
                                std::uint64_t* __restrict largest) {
  for (std::int64_t t = 0; t < n; ++t)
    for (std::int64_t e = 0; e < width; ++e) {
      const std::uint64_t own = magnitude_bits(tables[t * stride + e]);
      largest[e] = static_cast<std::int64_t>(own) > static_cast<std::int64_t>(largest[e]) ? own : largest[e];
    }
}

KEDGE_CLONES void add_limbs(const double* tables, std::int64_t n, std::int64_t stride, std::int64_t width,
                            const double* scale, std::int64_t* __restrict high, std::int64_t* __restrict middle,
                            std::int64_t* __restrict low) {
  for (std::int64_t t = 0; t < n; ++t)
    for (std::int64_t e = 0; e < width; ++e) {
      const Limbs limbs = limbs_of(tables[t * stride + e], scale[e]);
      high[e] += limbs.high, middle[e] += limbs.middle, low[e] += limbs.low;
    }
}

KEDGE_CLONES void scales_of(const std::uint64_t* largest, std::int64_t width, double* __restrict scale) {
  for (std::int64_t e = 0; e < width; ++e) scale[e] = limb_scale(sum_exponent(largest[e]));
}

KEDGE_CLONES void round_sums(const Sums& sums, std::int64_t width, double* __restrict total) {
  for (std::int64_t e = 0; e < width; ++e)
    total[e] = round_limbs({sums.high[e], sums.middle[e], sums.low[e]}, sum_exponent(sums.largest[e]));
}

// body(first, count, width) for pieces of some tables: whole tables, then what a wide row of them leaves over.
template <class Body>
void for_pieces(std::int64_t n_tables, std::int64_t side_by_side, std::int64_t width, Body&& body) {
  const std::int64_t whole = n_tables / side_by_side;
  for (std::int64_t t = 0; t < whole; t += kLook) {
    check_job_stop();
    body(t, std::min(kLook, whole - t), side_by_side * width);
  }
  if (whole * side_by_side < n_tables) body(whole, 1, (n_tables - whole * side_by_side) * width);
}

void add_block(const double* tables, std::int64_t n_tables, std::int64_t stride, std::int64_t width, double* total) {
  const std::int64_t side_by_side = width == stride ? std::clamp<std::int64_t>(kNarrow / width, 1, n_tables) : 1,
                     lanes = side_by_side * width, step = side_by_side * stride,
                     padded = tiles_of(lanes, kGroup) * kGroup;
  Sums sums;
  std::fill_n(sums.largest, padded, 0);
  for_pieces(n_tables, side_by_side, width, [&](std::int64_t first, std::int64_t count, std::int64_t wide) {
    raise_largest(tables + first * step, count, step, wide, sums.largest);
  });
  for (std::int64_t e = width; e < lanes; ++e)
    sums.largest[e % width] = std::max(sums.largest[e % width], sums.largest[e]);
  for (std::int64_t e = width; e < lanes; ++e) sums.largest[e] = sums.largest[e % width];
  scales_of(sums.largest, padded, sums.scale);
  std::fill_n(sums.high, padded, 0), std::fill_n(sums.middle, padded, 0), std::fill_n(sums.low, padded, 0);
  for_pieces(n_tables, side_by_side, width, [&](std::int64_t first, std::int64_t count, std::int64_t wide) {
    add_limbs(tables + first * step, count, step, wide, sums.scale, sums.high, sums.middle, sums.low);
  });
  for (std::int64_t e = width; e < lanes; ++e)
    sums.high[e % width] += sums.high[e], sums.middle[e % width] += sums.middle[e], sums.low[e % width] += sums.low[e];
  double rounded[kBlock];
  round_sums(sums, tiles_of(width, kGroup) * kGroup, rounded);
  std::copy_n(rounded, width, total);
  for (std::int64_t e = 0; e < width; ++e) {
    if (sums.largest[e] < kInfinityBits) continue;
    ExactSum sum{sums.largest[e]};
    for (std::int64_t t = 0; t < n_tables; ++t) sum.add(tables[t * stride + e]);
    total[e] = sum.value();
  }
}

// body(first, width) for blocks of entries, on all threads.
template <class Body>
void for_blocks(std::int64_t entries, const Body& body) noexcept {
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < entries; first += kBlock) body(first, std::min(kBlock, entries - first));
}

ExactSum sum_of_limbs(std::int64_t largest, const std::int64_t* limbs) {
  return {static_cast<std::uint64_t>(largest), {limbs[0], limbs[1], limbs[2]}};
}

}   // namespace

void add_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, double* total) {
  if (n_tables <= 2) {   // what round_limbs() gives, too
    for (std::int64_t e = 0; e < entries; ++e) {
      total[e] = 0;
      for (std::int64_t t = 0; t < n_tables; ++t) total[e] += tables[t * entries + e];
    }
    return;
  }
  for_tiles(entries, kBlock, n_tables * entries / kTermsPerNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    add_block(tables + begin, n_tables, entries, end - begin, total + begin);
  });
}

void largest_of_tables(const double* tables, std::int64_t n_tables, std::int64_t entries,
                       std::int64_t* largest) noexcept {
  for_blocks(entries, [&](std::int64_t first, std::int64_t width) {
    std::uint64_t most[kBlock] = {};
    raise_largest(tables + first, n_tables, entries, width, most);
    for (std::int64_t e = 0; e < width; ++e) largest[first + e] = static_cast<std::int64_t>(most[e]);
  });
}

void limbs_of_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, const std::int64_t* largest,
                     std::int64_t* limbs) noexcept {
  for_blocks(entries, [&](std::int64_t first, std::int64_t width) {
    Sums sums{};
    for (std::int64_t e = 0; e < width; ++e) sums.largest[e] = static_cast<std::uint64_t>(largest[first + e]);
    scales_of(sums.largest, width, sums.scale);
    std::fill_n(sums.high, width, 0), std::fill_n(sums.middle, width, 0), std::fill_n(sums.low, width, 0);
    add_limbs(tables + first, n_tables, entries, width, sums.scale, sums.high, sums.middle, sums.low);
    for (std::int64_t e = 0; e < width; ++e) {
      ExactSum sum{sums.largest[e], {sums.high[e], sums.middle[e], sums.low[e]}};
      if (!sum.is_finite()) {
        sum.limbs = {0, 0, 0};
        for (std::int64_t t = 0; t < n_tables; ++t) sum.add(tables[t * entries + first + e]);
      }
      std::int64_t* const out = limbs + 3 * (first + e);
      out[0] = sum.limbs.high, out[1] = sum.limbs.middle, out[2] = sum.limbs.low;
    }
  });
}

void round_tables(const std::int64_t* largest, const std::int64_t* limbs, std::int64_t entries,
                  double* total) noexcept {
  for (std::int64_t e = 0; e < entries; ++e) total[e] = sum_of_limbs(largest[e], limbs + 3 * e).value();
}

}   // namespace kedge::engine
