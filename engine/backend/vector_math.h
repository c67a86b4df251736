// Exponentials and logarithms without branches: loops of them become vectors on the CPU, and a GPU gives the same bits.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

// exp(x) without branches, so that loops of it become vectors: 2^n times a polynomial of degree 13, within 2 ulp; 0
// below -708.
KEDGE_HD_INLINE double vector_exp(double x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01,
                   kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound =
      0x1.8p52;   // added and taken away, it rounds to an integer, whose bits are the sum's lowest
  const double kept = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x), shifted = kept * kLog2E + kRound,
               n = shifted - kRound;
  const double r = (kept - n * kLn2High) - n * kLn2Low;
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0, sum = sum * r + 1.0 / 39916800.0, sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0, sum = sum * r + 1.0 / 40320.0, sum = sum * r + 1.0 / 5040.0,
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0, sum = sum * r + 1.0 / 24.0, sum = sum * r + 1.0 / 6.0, sum = sum * r + 0.5;
  const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
  return x < -708.0 ? 0.0 : (1.0 + (r + r * r * sum)) * power;
}

// log(x) of a finite x >= 1, the same way: n log(2) and 2 artanh(f) of what is left, which lies around 1; within 2 ulp.
// NaN stays NaN.
KEDGE_HD_INLINE double vector_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD, kInteger = 0x4330000000000000;   // bits; those of 2^52
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), exponent = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52)),
               n = std::bit_cast<double>(exponent + kInteger) - 0x1p52;
  const double f = (m - 1) / (m + 1), s = f * f;   // |f| <= 0.172
  double sum = 1.0 / 21;
  sum = sum * s + 1.0 / 19, sum = sum * s + 1.0 / 17, sum = sum * s + 1.0 / 15, sum = sum * s + 1.0 / 13,
  sum = sum * s + 1.0 / 11;
  sum = sum * s + 1.0 / 9, sum = sum * s + 1.0 / 7, sum = sum * s + 1.0 / 5, sum = sum * s + 1.0 / 3;
  return x >= 1 ? n * kLn2High + (2 * f + (2 * f * s * sum + n * kLn2Low)) : x;
}

}   // namespace kedge::engine
