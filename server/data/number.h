// Reading a number from text: short integers at once, everything else through fast_float.
#pragma once

#include <fast_float/fast_float.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace kedge::server {

// A number at the start of [p, end): next is behind it, or null when there is none. exact: T holds it without
// rounding beyond that of float64 (NaN counts as exact).
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

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte of a word");

inline std::uint64_t load_word(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// How many of a word's characters, from the first on, are digits.
inline int count_digits(std::uint64_t word) {
  constexpr std::uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0, kZeros = 0x3030303030303030, kSixes = 0x0606060606060606;
  const std::uint64_t others = ((word & kHighHalves) ^ kZeros) | (((word + kSixes) & kHighHalves) ^ kZeros);
  return std::countr_zero(others) / 8;
}

// The number that the first 1 to 8 characters write, all digits: pairs, then fours, then eights are joined.
inline std::uint32_t value_of_digits(std::uint64_t word, int count) {
  std::uint64_t digits = (word - 0x3030303030303030) << (8 * (8 - count));
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;
  const std::uint64_t high = (digits & kPairs) * (100 + (std::uint64_t{1000000} << 32));
  const std::uint64_t low = (digits >> 16 & kPairs) * (1 + (std::uint64_t{10000} << 32));
  return static_cast<std::uint32_t>((high + low) >> 32);
}

// Up to seven digits are exact in float32 as well and need no rounding.
template <class T>
inline ScannedNumber<T> scan_number(const char* p, const char* end) {
  const bool minus = p != end && *p == '-';
  const char* const first = p + minus;
  const auto length = end - first;
  std::uint64_t word = 0;
  if (length >= 8) word = load_word(first);
  else if (length > 0) std::memcpy(&word, first, static_cast<std::size_t>(length));
  const int count = count_digits(word);
  const char behind = static_cast<char>(word >> (8 * (count & 7)));
  const bool short_integer = count > 0 && count < 8 && behind != '.' && (behind | 0x20) != 'e';
  if (!short_integer) return scan_any_number<T>(p, end);
  const T value = static_cast<T>(static_cast<std::int32_t>(value_of_digits(word, count)));
  return {minus ? -value : value, first + count, true};
}

// Whether eight characters are four cells of one digit, each with its comma; then they go to out[0, 4).
// Pixels and counts often are.
template <class T>
inline bool scan_four_digits(const char* p, T* out) {
  constexpr std::uint64_t kCommas = 0x2C002C002C002C00, kZeros = 0x0030003000300030;
  const std::uint64_t digits = load_word(p) ^ (kCommas | kZeros);   // a digit becomes its value, a comma 0
  if (((digits | (digits + 0x0006000600060006)) & 0xFFF0FFF0FFF0FFF0) != 0) return false;
  for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(static_cast<std::int32_t>(digits >> (16 * i) & 0xF));
  return true;
}

}   // namespace kedge::server
