// The exponential function in a form that compilers turn into vector instructions.
#pragma once

#include <bit>
#include <cstdint>

namespace kedge::engine {

// e^x for x <= 700, within 2 units in the last place, NaN for NaN, at least 3e-308. x is cut into whole multiples n of log 2 and
// a rest, for which Taylor's polynomial of degree 13 is exact to 1e-17; n goes into the exponent. Inlined into functions marked
// KEDGE_CLONES.
inline __attribute__((always_inline)) double fast_exp(double x) {
  constexpr double kLog2e = 0x1.71547652b82fep0, kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;   // adding it rounds to a whole number, which is then in the lowest bits
  constexpr double kLeast = -708;
  const double bounded = x < kLeast ? kLeast : x, shifted = bounded * kLog2e + kRound, n = shifted - kRound;
  const double r = (bounded - n * kLn2High) - n * kLn2Low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52));
  return x == x ? power : x;
}

}   // namespace kedge::engine
