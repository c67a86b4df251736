// KEDGE_CLONES compiles a loop for AVX-512, AVX2 and the baseline, and the loader picks one; sums along rows in fixed
// lanes, and functions that become vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/backend/functors.h"
#include "engine/backend/vector_math.h"

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
