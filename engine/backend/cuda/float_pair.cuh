// Numbers of 48 bits as unevaluated sums of two floats (Dekker, 1971), for GPUs with few double units: 10 operations in
// float multiply and add, where one in double takes as long as 32 or 64. And doubles behind the same names, so that a
// kernel is written once for both. What is not written as fmaf() is rounded operation by operation (--fmad=false).
//
// u is 2^-24. Beside the bounds given here, what lies below 2^-149 is lost; beyond float's range there is no number.
#pragma once

#include "engine/backend/cuda/launch.cuh"

namespace kedge::engine {

struct FloatPair {   // |low| at most u |high| where nothing else is said
  float high, low;
};

// Any a and b; exact (Knuth, 1969).
__device__ inline FloatPair exact_sum(float a, float b) {
  const float sum = a + b, of_b = sum - a, of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

// number<V>(v): v as V; a pair errs by at most u^2 |v|.
template <class V>
__device__ V number(double v);
template <>
__device__ inline double number<double>(double v) {
  return v;
}
template <>
__device__ inline FloatPair number<FloatPair>(double v) {
  const auto high = static_cast<float>(v);
  return {high, static_cast<float>(v - static_cast<double>(high))};
}

__device__ inline double value_of(double v) {
  return v;
}
__device__ inline double value_of(FloatPair v) {
  return static_cast<double>(v.high) + static_cast<double>(v.low);
}

// Errs by at most 6 u^2 |a b|.
__device__ inline double product(double a, double b) {
  return a * b;
}
__device__ inline FloatPair product(FloatPair a, FloatPair b) {
  const float high = a.high * b.high, low = fmaf(a.high, b.low, fmaf(a.low, b.high, fmaf(a.high, b.high, -high)));
  const float sum = high + low;
  return {sum, low - (sum - high)};
}

// sum += a b. The low part of a pair's sum grows with the number of additions, until settle() gives what it can to the
// high one: after m additions of which at most k lie between two calls of settle(), the sum errs by at most
// m (k / 2 + 12) u^2 times the sum of |a b|.
__device__ inline void add_product(double& sum, double a, double b) {
  sum = fma(a, b, sum);
}
__device__ inline void add_product(FloatPair& sum, FloatPair a,
                                   FloatPair b) {   // exact_sum(), that of a b's rest in it
  const float total = sum.high + a.high * b.high, of_product = total - sum.high, of_sum = total - of_product;
  const float rest = (sum.high - of_sum) + fmaf(a.high, b.high, -of_product);
  sum.high = total, sum.low += fmaf(a.high, b.low, fmaf(a.low, b.high, rest));
}
__device__ inline void add_product(FloatPair& sum, float a, float b) {
  const float total = sum.high + a * b, of_product = total - sum.high, of_sum = total - of_product;
  sum.low += (sum.high - of_sum) + fmaf(a, b, -of_product);
  sum.high = total;
}
__device__ inline void add(FloatPair& sum, FloatPair v) {   // the same of v, with a bound of m (k / 2 + 2) u^2
  const FloatPair both = exact_sum(sum.high, v.high);
  sum.high = both.high, sum.low += both.low + v.low;
}
__device__ inline void settle(double&) {}
__device__ inline void settle(FloatPair& sum) {
  sum = exact_sum(sum.high, sum.low);
}

// Errs by at most 3 u^2 (|a| + |b|).
__device__ inline double plus(double a, double b) {
  return a + b;
}
__device__ inline FloatPair plus(FloatPair a, FloatPair b) {
  const FloatPair high = exact_sum(a.high, b.high);
  return exact_sum(high.high, high.low + (a.low + b.low));
}

// (x - shift) scale. A shift of a pair has all bits of a double, so that a difference keeps its own bits where x and
// the shift are close: it errs by at most 4 u^2 of itself.
template <class V>
struct AffineMap;

template <>
struct AffineMap<double> {
  double shift, scale;
  static __device__ AffineMap of(double shift, double scale) { return {shift, scale}; }
  template <class T>
  __device__ double operator()(T x) const {
    return (static_cast<double>(x) - shift) * scale;
  }
};

template <>
struct AffineMap<FloatPair> {
  float first, second, third;   // of the shift
  FloatPair scale;
  static __device__ AffineMap of(double shift, double scale) {
    const FloatPair parts = number<FloatPair>(shift);
    const double rest = (shift - static_cast<double>(parts.high)) - static_cast<double>(parts.low);
    return {parts.high, parts.low, static_cast<float>(rest), number<FloatPair>(scale)};
  }
  __device__ FloatPair operator()(float x) const {
    const FloatPair some = exact_sum(x, -first), more = exact_sum(some.high, -second);
    return product(exact_sum(more.high, (some.low + more.low) - third), scale);
  }
};

}   // namespace kedge::engine
