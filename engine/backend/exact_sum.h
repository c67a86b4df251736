// Sums of doubles that do not depend on the order of their terms, so they are the same for any number of threads,
// blocks or processes. Terms are cut into integers, integers are added, and their sum is rounded once.
//
// The largest magnitude of the terms comes first: let every term be less than 2^e. A term t becomes three integers of
// 40 bits,
//   t = high 2^(e-39) + middle 2^(e-79) + low 2^(e-119),   |high|, |middle|, |low| <= 2^39,
// rounded to the nearest multiple of 2^(e-119): a term within 2^66 of the largest is kept whole, a smaller one loses at
// most 2^-120 of 2^e. e is at least kLeastExponent, where 2^(e-119) is the least subnormal number, so sums of small
// numbers are exact. 64 bits hold the sums of kMostTerms integers. The value is their sum to the nearest double, ties
// to even (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008). For one or two terms that is
// what the processor's addition gives.
//
// A sum of zeros is +0, as is 0.0 + -0.0. A sum beyond the largest double is infinite; partial sums have no such limit.
// If a term is infinite or NaN, the integers count those terms by kind instead, and the value is what their ordered sum
// would be: NaN if one is NaN or both infinities occur, else that infinity. Idea: Demmel and Nguyen, "Parallel
// reproducible summation", 2015.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "engine/core/portability.h"

namespace kedge::engine {

inline constexpr std::int64_t kMostTerms = (std::int64_t{1} << 24) - 1;
inline constexpr std::int64_t kLeastExponent = -955;
inline constexpr std::uint64_t kInfinityBits = std::uint64_t{2047} << 52;

// Magnitudes compare as their bits: those of infinity are kInfinityBits, those of NaN are greater.
KEDGE_HD_INLINE std::uint64_t magnitude_bits(double t) {
  return std::bit_cast<std::uint64_t>(t) & ~(std::uint64_t{1} << 63);
}

// e, for the largest magnitude_bits() of the terms.
KEDGE_HD_INLINE std::int64_t sum_exponent(std::uint64_t largest) {
  const std::int64_t e = static_cast<std::int64_t>(largest >> 52) - 1022;
  return e > kLeastExponent ? e : kLeastExponent;
}

// 2^k for -1023 < k < 1024.
KEDGE_HD_INLINE double power_of_two(std::int64_t k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// What limbs_of() multiplies terms by.
KEDGE_HD_INLINE double limb_scale(std::int64_t exponent) {
  return power_of_two(39 - exponent);
}

struct Limbs {
  std::int64_t high, middle, low;
  KEDGE_HD_INLINE void add(const Limbs& other) { high += other.high, middle += other.middle, low += other.low; }
};

// Without branches or conversions, so that loops become vectors: 1.5 2^52 added to a number rounds it to an integer,
// which the sum's lowest bits then are. All but these roundings is exact.
KEDGE_HD_INLINE Limbs limbs_of(double term, double scale) {
  constexpr double kRound = 0x1.8p52;
  constexpr std::int64_t kZero = std::bit_cast<std::int64_t>(kRound);
  const double first = term * scale, high = first + kRound;
  const double second = (first - (high - kRound)) * 0x1p40, middle = second + kRound;
  const double low = (second - (middle - kRound)) * 0x1p40 + kRound;
  return {std::bit_cast<std::int64_t>(high) - kZero, std::bit_cast<std::int64_t>(middle) - kZero,
          std::bit_cast<std::int64_t>(low) - kZero};
}

namespace internal {

struct Pair {
  double sum, rest;   // rest: what rounding took from the sum
};
// |a| >= |b|, or a = 0 (Dekker, 1971).
KEDGE_HD_INLINE Pair fast_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
// Any a and b (Knuth, 1969).
KEDGE_HD_INLINE Pair exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a, of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

}   // namespace internal

// high 2^80 + middle 2^40 + low, times 2^(exponent - 119), to the nearest double.
KEDGE_HD_INLINE double round_limbs(const Limbs& sum, std::int64_t exponent) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63, kLimb = (std::uint64_t{1} << 40) - 1;
  constexpr std::uint64_t kCarryBias = std::uint64_t{1} << 23;   // shifts are of unsigned numbers, which vectors have
  const auto bits = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t low = bits(sum.low), middle = bits(sum.middle) + ((low ^ kSign) >> 40) - kCarryBias,
                      high = (bits(sum.high) + ((middle ^ kSign) >> 40) - kCarryBias) ^ kSign;
  // The same number in three pieces of 48 bits, the first signed, each in the lowest bits of a double of 2^52 and more.
  const auto piece = [](std::uint64_t v) { return std::bit_cast<double>(v | (std::uint64_t{1075} << 52)); };
  const double a = (piece(high >> 16) - (0x1p52 + 0x1p47)) * 0x1p96,
               b = (piece((high & 0xffff) << 32 | (middle & kLimb) >> 8) - 0x1p52) * 0x1p48,
               c = piece((middle & 0xff) << 40 | (low & kLimb)) - 0x1p52;
  const internal::Pair small = internal::fast_sum(b, c), large = internal::fast_sum(a, small.sum),
                       rest = internal::exact_sum(large.rest, small.rest);
  // The rest is rounded to odd: where it is inexact, to the neighbour whose last bit is 1. Then the last addition
  // rounds as if all were exact.
  const std::int64_t even = std::bit_cast<std::int64_t>(rest.sum), step = (rest.rest > 0) == (rest.sum > 0) ? 1 : -1;
  const std::int64_t odd = rest.rest != 0 && (even & 1) == 0 ? even + step : even;
  const double units = large.sum + std::bit_cast<double>(odd);
  const std::int64_t shift = exponent - 119,
                     half = static_cast<std::int64_t>(static_cast<std::uint64_t>(shift + 2048) >> 1) - 1024;
  return units * power_of_two(half) * power_of_two(shift - half);
}

// One term that is not finite; 0 for one that is.
KEDGE_HD_INLINE Limbs count_nonfinite(double term) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {term == kInfinity, term == -kInfinity, term != term};
}
KEDGE_HD_INLINE double nonfinite_sum(const Limbs& counts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (counts.low != 0 || (counts.high != 0 && counts.middle != 0)) return std::numeric_limits<double>::quiet_NaN();
  return counts.high != 0 ? kInfinity : -kInfinity;
}

// One such sum. `largest` is that of all terms of the whole sum; parts of the sum with the same largest are added as
// Limbs.
struct ExactSum {
  std::uint64_t largest = 0;
  Limbs limbs = {0, 0, 0};

  KEDGE_HD_INLINE bool is_finite() const { return largest < kInfinityBits; }
  KEDGE_HD_INLINE void add(double term) {
    limbs.add(is_finite() ? limbs_of(term, limb_scale(sum_exponent(largest))) : count_nonfinite(term));
  }
  KEDGE_HD_INLINE double value() const {
    return is_finite() ? round_limbs(limbs, sum_exponent(largest)) : nonfinite_sum(limbs);
  }
};

}   // namespace kedge::engine
