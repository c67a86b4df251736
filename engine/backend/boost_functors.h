// The formulas of boosting that the host and the GPU share, each written once: derivatives and losses of a row, whole
// numbers for them, gains of cuts and values of leaves. The same operations in the same order, so that trees are the
// same.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/backend/vector_math.h"
#include "engine/core/portability.h"

namespace kedge::engine {

enum class BoostLoss { kSquared, kAbsolute, kQuantile, kPoisson, kGamma, kBinomial, kMultinomial };

// First and second derivative of a row's loss by its raw prediction.
struct BoostDerivatives {
  double gradient, hessian;
};
KEDGE_HD_INLINE BoostDerivatives binomial_derivatives(double x, double y) {
  const double e = vector_exp(x < 0 ? x : -x), inverse = 1 / (1 + e);
  return {(x < 0 ? e * inverse : inverse) - y, e * inverse * inverse};
}
KEDGE_HD_INLINE BoostDerivatives poisson_derivatives(double x, double y) {
  const double e = vector_exp(x);
  return {e - y, e};
}
KEDGE_HD_INLINE BoostDerivatives gamma_derivatives(double x, double y) {
  const double e = y * vector_exp(-x);
  return {1 - e, e};
}
// share: of the class in the row's softmax.
KEDGE_HD_INLINE BoostDerivatives multinomial_derivatives(double share, bool is_own) {
  return {share - (is_own ? 1 : 0), share * (1 - share)};
}

// Where the i-th edge of equal shares lies among n ascending values, counting edges from 1 (numpy's percentile, method
// averaged_inverted_cdf): at `high`, or in the middle of both.
struct QuantilePlace {
  std::int64_t low, high;
  bool is_between;
};
KEDGE_HD_INLINE QuantilePlace quantile_place(std::int64_t n, int max_bins, int i) {
  const double step = 100.0 / max_bins, place = static_cast<double>(n) * (i * step / 100.0) - 1, below = floor(place);
  const auto low = static_cast<std::int64_t>(below > 0 ? below : 0.0), high = static_cast<std::int64_t>(below + 1);
  return {low, high < n - 1 ? high : n - 1, place == below};
}

// The loss of a row; raw[k * stride] is its raw prediction of output k.
KEDGE_HD_INLINE double boost_row_loss(BoostLoss loss, double quantile, std::int32_t n_outputs, double y,
                                      const double* raw, std::int64_t stride) {
  const double x = raw[0];
  switch (loss) {
    case BoostLoss::kSquared:
      return 0.5 * (x - y) * (x - y);
    case BoostLoss::kAbsolute:
      return x < y ? y - x : x - y;
    case BoostLoss::kQuantile:
      return y >= x ? quantile * (y - x) : (1 - quantile) * (x - y);
    case BoostLoss::kPoisson:
      return vector_exp(x) - y * x;
    case BoostLoss::kGamma:
      return x + y * vector_exp(-x);
    case BoostLoss::kBinomial:   // log(1 + exp(x)) - y x
      return (x > 0 ? x : 0.0) + vector_log(1 + vector_exp(x < 0 ? x : -x)) - y * x;
    case BoostLoss::kMultinomial:
      break;
  }
  double top = x, sum = 0;
  for (std::int32_t k = 1; k < n_outputs; ++k) top = raw[k * stride] > top ? raw[k * stride] : top;
  for (std::int32_t k = 0; k < n_outputs; ++k) sum += vector_exp(raw[k * stride] - top);
  return vector_log(sum) + top - raw[static_cast<std::int64_t>(y) * stride];
}

// The exponent e of the least 2^e that is not below x; 0 for 0.
KEDGE_HD inline int exponent_of(double x) {
  if (x == 0) return 0;
  int e;
  const double m = frexp(x, &e);
  return m == 0.5 ? e - 1 : e;
}
KEDGE_HD inline int bits_of(std::int64_t n) {
  int bits = 0;
  for (; n > 0; n >>= 1) ++bits;
  return bits;
}

// Of a tree: what its rows' derivatives are as whole numbers. Up to kFewBoostRows rows each has a pair of numbers; more
// have one of 64 bits, of which gradient, second derivative and a count can be added up for a block of rows.
inline constexpr std::int64_t kFewBoostRows = 8192, kBoostBlock = 4095;
inline constexpr int kFewCountBits = 14, kManyCountBits = 28;   // count_bits of few rows, and of 2^27
struct BoostUnits {
  int count_bits;                                     // of sums, below their second derivatives
  int packed_count_bits, hessian_bits;                // of numbers of 64 bits
  double gradient_scale, hessian_scale;               // from derivatives to whole numbers
  double gradient_unit, hessian_unit;                 // and back
  double value_gradient_scale, value_hessian_scale;   // of the sums that leaves predict by
};
// largest_*: of the derivatives; has_hessians: else each is 1.
KEDGE_HD inline BoostUnits boost_units(double largest_gradient, double largest_hessian, bool has_hessians,
                                       std::int64_t n_rows) {
  const int g_exponent = exponent_of(largest_gradient), h_exponent = exponent_of(largest_hessian),
            n_bits = bits_of(n_rows);
  const bool few = n_rows <= kFewBoostRows;
  BoostUnits units{};
  units.count_bits = few ? kFewCountBits : kManyCountBits;
  units.packed_count_bits = bits_of(n_rows < kBoostBlock ? n_rows : kBoostBlock);
  const int most_h_bits = 62 - units.count_bits - n_bits;
  const int h_bits = !has_hessians ? 0 : few || most_h_bits < 12 ? most_h_bits : 12;
  units.hessian_bits = h_bits + units.packed_count_bits;
  const int few_g_bits = 61 - n_bits < 52 ? 61 - n_bits : 52;
  const int g_bits = few ? few_g_bits : 64 - 2 * units.packed_count_bits - units.hessian_bits - 1;
  units.gradient_unit = ldexp(1.0, g_exponent - g_bits);
  units.hessian_unit = has_hessians ? ldexp(1.0, h_exponent - h_bits) : 1;
  units.gradient_scale = ldexp(1.0, g_bits - g_exponent), units.hessian_scale = ldexp(1.0, h_bits - h_exponent);
  units.value_gradient_scale = ldexp(1.0, 62 - n_bits - g_exponent);
  units.value_hessian_scale = ldexp(1.0, 62 - n_bits - h_exponent);
  return units;
}

// Of tree `number`, what rounding depends on.
KEDGE_HD inline std::uint32_t boost_dither_key(std::uint64_t number) {
  return static_cast<std::uint32_t>(number * 0x9E3779B97F4A7C15U >> 32);
}

// A row as one number: its derivatives as whole numbers, rounded down after a share of one was added that depends on
// row and tree alone; and a count of 1.
KEDGE_HD_INLINE std::uint64_t packed_row(const BoostUnits& units, std::uint32_t key, std::uint32_t row, double gradient,
                                         double hessian, bool has_hessian) {
  std::uint32_t x = row * 0x9E3779B1U ^ key;
  x ^= x >> 16, x *= 0x85EBCA6BU, x ^= x >> 13, x *= 0xC2B2AE35U, x ^= x >> 16;
  const double for_first = static_cast<double>(x & 0xffff) * 0x1p-16,
               for_second = static_cast<double>(x >> 16) * 0x1p-16;
  const double second = has_hessian ? floor(hessian * units.hessian_scale + for_second) : 1.0;
  const auto first = static_cast<std::int64_t>(floor(gradient * units.gradient_scale + for_first));
  return (static_cast<std::uint64_t>(first) << (units.packed_count_bits + units.hessian_bits)) +
         (static_cast<std::uint64_t>(static_cast<std::int64_t>(second)) << units.packed_count_bits) + 1;
}

// The sums in a packed number: of gradients; of second derivatives, from bit kManyCountBits on, and the count.
KEDGE_HD_INLINE std::int64_t packed_gradient(std::uint64_t value, int count_bits, int hessian_bits) {
  return static_cast<std::int64_t>(value) >> (count_bits + hessian_bits);
}
KEDGE_HD_INLINE std::int64_t packed_rest(std::uint64_t value, int count_bits, int hessian_bits) {
  const std::uint64_t counts = (std::uint64_t{1} << count_bits) - 1, seconds = (std::uint64_t{1} << hessian_bits) - 1;
  return static_cast<std::int64_t>((value >> count_bits & seconds) << kManyCountBits | (value & counts));
}

inline constexpr double kBoostTiny = 1e-15;   // as scikit-learn's, against 0 / 0

// What sums predict, by a Newton step within bounds.
KEDGE_HD_INLINE double boost_value(double gradient, double hessian, double l2, double low, double high) {
  const double value = -gradient / (hessian + l2 + kBoostTiny);
  return value < low ? low : value > high ? high : value;
}

// What the gains of a column's cuts in a node depend on. l2: with kBoostTiny; before: what the node's own value gains.
struct GainTerms {
  double gradient_unit, hessian_unit, l2, gradient, hessian, before, least_hessian;
  std::int64_t rows, least_rows;
  int count_bits;
};

// About the gain of the cut that has these sums on its left; far below 0 where a side is too small. Without bounds a
// side's loss is -g^2 / (h + l2). Without branches.
KEDGE_HD_INLINE double about_gain(const GainTerms& t, std::int64_t gradients, std::int64_t rest) {
  constexpr double kRefused = 1e300;
  const std::int64_t counts = (std::int64_t{1} << t.count_bits) - 1;
  const auto rows = static_cast<double>(t.rows), least_rows = static_cast<double>(t.least_rows);
  const double nl = static_cast<double>(rest & counts), nr = rows - nl, fewest = nl < nr ? nl : nr;
  const double gl = static_cast<double>(gradients) * t.gradient_unit, gr = t.gradient - gl;
  const double hl = static_cast<double>(rest >> t.count_bits) * t.hessian_unit, hr = t.hessian - hl;
  const double dl = hl + t.l2, dr = hr + t.l2, lightest = hl < hr ? hl : hr;
  const double few = fewest < least_rows ? kRefused : 0.0, light = lightest < t.least_hessian ? kRefused : 0.0;
  return t.before + (gl * gl * dr + gr * gr * dl) / (dl * dr) - few - light;
}
// Cuts whose gains are about the greatest, `about`, are compared by their exact gains.
KEDGE_HD_INLINE double least_gain(const GainTerms& t, double about) {
  constexpr double kRounding = 1e-13;   // of the two terms of a gain
  return about - kRounding * ((t.before < 0 ? -t.before : t.before) + (about - t.before));
}

// As scikit-learn computes it, operation by operation; -1 for a cut that may not be.
struct GainBounds {
  double l2, low, high;   // l2: alone
  int monotonic;
};
KEDGE_HD_INLINE double exact_gain(const GainTerms& t, const GainBounds& bounds, std::int64_t gradients,
                                  std::int64_t rest) {
  const std::int64_t count = rest & ((std::int64_t{1} << t.count_bits) - 1);
  const double gl = static_cast<double>(gradients) * t.gradient_unit, gr = t.gradient - gl,
               hl = static_cast<double>(rest >> t.count_bits) * t.hessian_unit, hr = t.hessian - hl;
  if (count < t.least_rows || t.rows - count < t.least_rows || hl < t.least_hessian || hr < t.least_hessian) return -1;
  const double left = boost_value(gl, hl, bounds.l2, bounds.low, bounds.high),
               right = boost_value(gr, hr, bounds.l2, bounds.low, bounds.high);
  const double gain = (t.before - gl * left) - gr * right;
  if ((bounds.monotonic > 0 && left > right) || (bounds.monotonic < 0 && left < right)) return -1;
  return gain;
}

// Categories are cut in the order of what they would predict, those alone that have enough rows.
inline constexpr double kCategorySupport = 10;

}   // namespace kedge::engine
