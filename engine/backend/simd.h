// KEDGE_CLONES compiles a loop for AVX-512, AVX2 and the baseline, and the loader picks one; sums along rows in fixed lanes, and
// exponentials that become vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/backend/functors.h"

// GCC alone: clang takes no noinline here, and its sanitizers are not up yet when the loader picks.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define KEDGE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), noinline))
#else
#define KEDGE_CLONES
#endif

namespace kedge::engine {

// Sum of term(j), j < n, in the lane order of functors.h. Inlined into functions marked KEDGE_CLONES.
template <class Term>
inline __attribute__((always_inline)) double lane_sum(std::int64_t n, Term&& term) {
  double lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(j + l);
  }
  for (int l = 0; j + l < n; ++l) lanes[l] += term(j + l);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// exp(x) without branches, so that loops of it become vectors: 2^n times a polynomial of degree 13, within 2 ulp; 0 below -708.
inline __attribute__((always_inline)) double vector_exp(double x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound = 0x1.8p52;   // added and taken away, it rounds to an integer, whose bits are the sum's lowest
  const double kept = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x), shifted = kept * kLog2E + kRound, n = shifted - kRound;
  const double r = (kept - n * kLn2High) - n * kLn2Low;
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0, sum = sum * r + 1.0 / 39916800.0, sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0, sum = sum * r + 1.0 / 40320.0, sum = sum * r + 1.0 / 5040.0, sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0, sum = sum * r + 1.0 / 24.0, sum = sum * r + 1.0 / 6.0, sum = sum * r + 0.5;
  const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
  return x < -708.0 ? 0.0 : (1.0 + (r + r * r * sum)) * power;
}

// log(x) of a finite x >= 1, the same way: n log(2) and 2 artanh(f) of what is left, which lies around 1; within 2 ulp. NaN stays NaN.
inline __attribute__((always_inline)) double vector_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD, kInteger = 0x4330000000000000;   // bits; those of 2^52
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), exponent = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52)), n = std::bit_cast<double>(exponent + kInteger) - 0x1p52;
  const double f = (m - 1) / (m + 1), s = f * f;   // |f| <= 0.172
  double sum = 1.0 / 21;
  sum = sum * s + 1.0 / 19, sum = sum * s + 1.0 / 17, sum = sum * s + 1.0 / 15, sum = sum * s + 1.0 / 13, sum = sum * s + 1.0 / 11;
  sum = sum * s + 1.0 / 9, sum = sum * s + 1.0 / 7, sum = sum * s + 1.0 / 5, sum = sum * s + 1.0 / 3;
  return x >= 1 ? n * kLn2High + (2 * f + (2 * f * s * sum + n * kLn2Low)) : x;
}

// tanh(x) without branches, within 3 ulp: a rational function near 0, where the exponential loses digits. Source:
// Cephes, tanh.c.
inline __attribute__((always_inline)) double vector_tanh(double x) {
  const double size = x < 0 ? -x : x, e = vector_exp(-2 * (size < 20 ? size : 20.0)), s = x * x;
  const double above = (-9.64399179425052238628E-1 * s - 9.92877231001918586564E1) * s - 1.61468768441708447952E3;
  const double below = ((s + 1.12811678491632931402E2) * s + 2.23548839060100448583E3) * s + 4.84406305325125486048E3;
  const double value = size < 0.625 ? size + size * s * above / below : (1 - e) / (1 + e);
  return x == x ? (x < 0 ? -value : value) : x;
}

// cos(x) of |x| below kMostVectorAngle, without branches, within 3 ulp: x is brought to r, at most pi / 2 from an odd
// multiple of it, where cos(x) is sin(r) or -sin(r), a polynomial. Source of the parts of pi / 2: fdlibm, e_rem_pio2.c.
inline constexpr double kMostVectorAngle = 0x1p19;
inline __attribute__((always_inline)) double vector_cos(double x) {
  constexpr double kHalfPi1 = 1.57079632673412561417e+00, kHalfPi2 = 6.07710050630396597660e-11,
                   kHalfPi3 = 2.02226624879595063154e-21;
  constexpr double kTwoPerPi = 0.63661977236758134308, kRound = 0x1.8p52;
  const double shifted = (x * kTwoPerPi - 1) * 0.5 + kRound, q = shifted - kRound, odd = 2 * q + 1;
  const double r = ((x - odd * kHalfPi1) - odd * kHalfPi2) - odd * kHalfPi3, s = r * r;
  double sum = 1.0 / 51090942171709440000.0;
  sum = 1.0 / -121645100408832000.0 + sum * s, sum = 1.0 / 355687428096000.0 + sum * s,
  sum = 1.0 / -1307674368000.0 + sum * s;
  sum = 1.0 / 6227020800.0 + sum * s, sum = 1.0 / -39916800.0 + sum * s, sum = 1.0 / 362880.0 + sum * s;
  sum = 1.0 / -5040.0 + sum * s, sum = 1.0 / 120.0 + sum * s, sum = -1.0 / 6.0 + sum * s;
  const double sine = r + r * s * sum;
  return (std::bit_cast<std::uint64_t>(shifted) & 1) != 0 ? sine : -sine;
}

}  // namespace kedge::engine
