// DoubleDouble: a number as the unevaluated sum of two doubles, about 32 digits, for small problems that double cannot solve.
// Source: Dekker, "A floating-point technique for extending the available precision", 1971; Knuth's two-sum.
#pragma once

#include <cmath>

namespace kedge::engine {

// A value. |low| is at most half a unit in the last place of high. Exact products need |value| < 2^996.
struct DoubleDouble {
  double high = 0, low = 0;

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}
  DoubleDouble(double high, double low) : high(high), low(low) {}
  explicit operator double() const { return high + low; }
};

// a + b exactly, for any order of magnitude.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
// The same for |a| >= |b|.
inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
// a * b exactly, by Veltkamp's splitting: std::fma would be a call where the compiler may not assume the instruction.
inline DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 134217729;   // 2^27 + 1
  const double product = a * b, ta = kSplit * a, tb = kSplit * b;
  const double ah = ta - (ta - a), al = a - ah, bh = tb - (tb - b), bl = b - bh;
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

inline DoubleDouble operator-(const DoubleDouble& a) {
  return {-a.high, -a.low};
}
inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
  const DoubleDouble u = quick_two_sum(s.high, s.low + t.high);
  return quick_two_sum(u.high, u.low + t.low);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) {
  return a + -b;
}
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble p = two_product(a.high, b.high);
  return quick_two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble(first);
  const double second = rest.high / b.high;
  const DoubleDouble last = rest - b * DoubleDouble(second);
  return DoubleDouble(first) + DoubleDouble(second) + DoubleDouble(last.high / b.high);
}
inline DoubleDouble& operator+=(DoubleDouble& a, const DoubleDouble& b) {
  return a = a + b;
}
inline DoubleDouble& operator-=(DoubleDouble& a, const DoubleDouble& b) {
  return a = a - b;
}
// a >= 0.
inline DoubleDouble square_root(const DoubleDouble& a) {
  if (!(a.high > 0)) return {};
  const DoubleDouble guess(std::sqrt(a.high));   // one step of Newton's doubles the digits
  return (guess + a / guess) * DoubleDouble(0.5);
}

}   // namespace kedge::engine
