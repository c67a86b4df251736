// Reading a number from text: short integers at once, everything else through fast_float.
#pragma once

#include <fast_float/fast_float.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace kedge::server {

// A number at the start of [p, end): next is behind it, or null when there is none. exact: T holds it without rounding beyond
// that of float64 (NaN counts as exact).
template <class T>
struct ScannedNumber {
  T value;
  const char* next;
  bool exact;
};

template <class T>
ScannedNumber<T> scan_any_number(const char* p, const char* end) {
  double value = 0;
  const bool plus = p != end && *p == '+' && end - p > 1 && p[1] != '-';   // fast_float, like from_chars, takes no plus
  const auto result = fast_float::from_chars(p + plus, end, value);
  if (result.ec == std::errc::invalid_argument) return {T(0), nullptr, true};
  const T narrowed = static_cast<T>(value);
  return {narrowed, result.ptr, static_cast<double>(narrowed) == value || value != value};
}

// Up to seven digits are exact in float32 as well and need no rounding.
template <class T>
inline ScannedNumber<T> scan_number(const char* p, const char* end) {
  const char* digit = p;
  const bool minus = digit != end && *digit == '-';
  digit += minus;
  const char* const first = digit;
  std::int32_t integer = 0;
  while (digit != end && static_cast<unsigned char>(*digit - '0') < 10 && digit - first < 8)
    integer = integer * 10 + (*digit++ - '0');
  const auto count = digit - first;
  const bool short_integer = count > 0 && count < 8 && (digit == end || (*digit != '.' && (*digit | 0x20) != 'e'));
  if (!short_integer) return scan_any_number<T>(p, end);
  const T value = static_cast<T>(integer);
  return {minus ? -value : value, digit, true};
}

}  // namespace kedge::server
