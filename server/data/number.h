// Reading a number from text: short integers at once, everything else through fast_float.
#pragma once

#include <fast_float/fast_float.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
inline std::uint32_t joined_digits(std::uint64_t digits) {   // a byte each, the first the lowest
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;
  const std::uint64_t high = (digits & kPairs) * (100 + (std::uint64_t{1000000} << 32));
  const std::uint64_t low = (digits >> 16 & kPairs) * (1 + (std::uint64_t{10000} << 32));
  return static_cast<std::uint32_t>((high + low) >> 32);
}

inline std::uint32_t value_of_digits(std::uint64_t word, int count) {
  return joined_digits((word - 0x3030303030303030) << (8 * (8 - count)));
}

// Up to eight characters of [p, end), zeros behind its end.
inline std::uint64_t load_up_to_word(const char* p, const char* end) {
  const auto length = end - p;
  if (length >= 8) return load_word(p);
  std::uint64_t word = 0;
  if (length > 0) std::memcpy(&word, p, static_cast<std::size_t>(length));
  return word;
}

inline constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
inline constexpr std::uint64_t kWholePowersOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Reads the rest of a number such as 12.345, whose `before` (1 to 7) digits write `whole`; p is behind the point. At
// most 15 digits in all: they and the power of ten are exact in float64, and one division rounds as fast_float does
// (Clinger). False: it is another number. Writes to `found`, because a copy of it waits for its stores.
template <class T>
inline bool scan_decimals(std::uint64_t whole, int before, bool minus, const char* p, const char* end,
                          ScannedNumber<T>& found) {
  constexpr int kMostDigits = 15, kWord = 8;
  std::uint64_t word = load_up_to_word(p, end);
  int count = count_digits(word), decimals = count;
  if (count == 0) return false;
  std::uint64_t digits = whole * kWholePowersOfTen[count] + value_of_digits(word, count);
  if (count == kWord) {
    word = load_up_to_word(p + kWord, end);
    count = count_digits(word), decimals += count;
    if (before + decimals > kMostDigits) return false;
    if (count > 0) digits = digits * kWholePowersOfTen[count] + value_of_digits(word, count);
  }
  const char behind = static_cast<char>(word >> (8 * (count & 7)));
  if ((behind | 0x20) == 'e') return false;
  const double size = static_cast<double>(static_cast<std::int64_t>(digits)) / kPowersOfTen[decimals];
  const double value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | std::uint64_t{minus} << 63);
  found.value = static_cast<T>(value);
  found.next = p + decimals;
  found.exact = static_cast<double>(found.value) == value;
  return true;
}

// Up to seven digits are exact in float32 as well and need no rounding.
template <class T>
inline ScannedNumber<T> scan_number(const char* p, const char* end) {
  const bool minus = p != end && *p == '-';
  const char* const first = p + minus;
  const std::uint64_t word = load_up_to_word(first, end);
  const int count = count_digits(word);
  const char behind = static_cast<char>(word >> (8 * (count & 7)));
  const bool is_short = count > 0 && count < 8;
  ScannedNumber<T> found;   // returned by each path, so that it is written where the caller has it
  if (is_short && behind == '.' &&
      scan_decimals(value_of_digits(word, count), count, minus, first + count + 1, end, found))
    return found;
  if (!is_short || behind == '.' || (behind | 0x20) == 'e') {
    found = scan_any_number<T>(p, end);
    return found;
  }
  const T value = static_cast<T>(static_cast<std::int32_t>(value_of_digits(word, count)));
  found.value = minus ? -value : value, found.next = first + count, found.exact = true;
  return found;
}

// A bit for each of 64 characters: whether it is a comma. By words, then as the processor has it.
inline std::uint64_t mark_commas_by_words(const char* p) {
  constexpr std::uint64_t kCommas = 0x2C2C2C2C2C2C2C2C, kLow = 0x7F7F7F7F7F7F7F7F;
  std::uint64_t marks = 0;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t others = load_word(p + 8 * i) ^ kCommas;
    const std::uint64_t zeros = ~(((others & kLow) + kLow) | others | kLow);   // 0x80 where a character is a comma
    marks |= ((zeros >> 7) * 0x0102040810204080 >> 56) << (8 * i);
  }
  return marks;
}

inline std::uint64_t mark_commas(const char* p) {
#ifdef __SSE2__
  std::uint64_t marks = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i found = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i), _mm_set1_epi8(','));
    marks |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(found))} << (16 * i);
  }
  return marks;
#else
  return mark_commas_by_words(p);
#endif
}

// Whether sixteen characters are eight cells of one digit, each with its comma; then they go to out[0, 8).
template <class T>
inline bool read_eight_digits(const char* p, T* out) {
  constexpr std::uint64_t kCommas = 0x2C002C002C002C00, kZeros = 0x0030003000300030, kSixes = 0x0006000600060006;
  std::uint64_t words[2] = {load_word(p) ^ (kCommas | kZeros), load_word(p + 8) ^ (kCommas | kZeros)};   // a digit becomes its value, a comma 0
  if (((words[0] | (words[0] + kSixes) | words[1] | (words[1] + kSixes)) & 0xFFF0FFF0FFF0FFF0) != 0) return false;
  std::uint16_t digits[8];
  std::memcpy(digits, words, sizeof words);
  for (int i = 0; i < 8; ++i) out[i] = static_cast<T>(static_cast<std::int32_t>(digits[i]));
  return true;
}

struct ScannedRun {
  std::size_t n;
  const char* next;   // behind the comma of the last
};

// Cells of one to four digits at the start of [p, end), each with its comma: at most so many go to out. Pixels and counts often are
// such. It may stop before one, and does so at any other cell and near the end; the commas of 64 characters are found at once, so
// that cells do not wait for each other.
template <class T>
ScannedRun scan_short_integers(const char* p, const char* end, T* out, std::size_t most) {
  constexpr std::uint64_t kEightDigits = 0xAAAA;   // the marks of 16 characters
  std::size_t n = 0;
  while (end - p >= 64 + 8) {
    std::uint64_t marks = mark_commas(p);
    if (marks == 0) break;
    while (marks != 0) {
      if ((marks & 0xFFFF) == kEightDigits && most - n >= 8 && read_eight_digits(p, out + n)) {
        n += 8, p += 16, marks >>= 16;
        continue;
      }
      const int length = std::countr_zero(marks);
      std::uint32_t word;
      std::memcpy(&word, p, sizeof word);
      word = (word ^ 0x30303030) << (8 * (4 - length) & 31);   // the characters' values behind zeros
      if (n == most || length < 1 || length > 4 || ((word | (word + 0x06060606)) & 0xF0F0F0F0) != 0) return {n, p};
      word = (word * 10 + (word >> 8)) & 0x00FF00FF;           // pairs, then fours are joined
      out[n++] = static_cast<T>(static_cast<std::int32_t>((word * 100 + (word >> 16)) & 0xFFFF));
      marks >>= length, marks >>= 1, p += length + 1;
    }
  }
  return {n, p};
}

// A cell of 1 to 8 characters, behind its sign if it has one: digits, perhaps with a point among them. `word` has them
// as its last characters, zeros before them. False: it is another one, or is not exact in T.
template <class T>
inline bool read_short_decimal(std::uint64_t word, int length, bool minus, T& out) {
  constexpr std::uint64_t kPoints = 0x2E2E2E2E2E2E2E2E, kLow = 0x7F7F7F7F7F7F7F7F, kZeros = 0x3030303030303030;
  const std::uint64_t others = word ^ kPoints;
  const std::uint64_t points = ~(((others & kLow) + kLow) | others | kLow);   // 0x80 where a character is a point
  int decimals = 0;
  if (points != 0) {
    if (--length == 0 || (points & (points - 1)) != 0) return false;
    const std::uint64_t before = (points >> 7) - 1;
    word = (word & ~(before << 8 | 0xFF)) | (word & before) << 8;
    decimals = std::countl_zero(points) / 8;
  }
  const std::uint64_t digits = word ^ kZeros << (8 * (8 - length));
  if (((digits | (digits + 0x0606060606060606)) & 0xF0F0F0F0F0F0F0F0) != 0) return false;
  const double size = static_cast<double>(static_cast<std::int32_t>(joined_digits(digits))) / kPowersOfTen[decimals];
  const double value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | std::uint64_t{minus} << 63);
  out = static_cast<T>(value);
  return static_cast<double>(out) == value;
}

// As scan_short_integers, of numbers such as -1.234. `limit` may be far behind the record: no cell holds a line's end.
// Where a cell begins is known before the one in front of it is read, so the processor reads several at a time.
template <class T>
ScannedRun scan_short_decimals(const char* p, const char* limit, T* out, std::size_t most) {
  std::size_t n = 0;
  while (limit - p >= 64 + 9) {
    std::uint64_t marks = mark_commas(p);
    if (marks == 0) break;
    while (marks != 0) {
      const int cell = std::countr_zero(marks);
      const bool minus = *p == '-';
      const int length = cell - minus;
      if (n == most || length < 1 || length > 8) return {n, p};
      if (!read_short_decimal(load_word(p + minus) << (8 * (8 - length)), length, minus, out[n])) return {n, p};
      ++n, marks >>= cell, marks >>= 1, p += cell + 1;
    }
  }
  return {n, p};
}

}   // namespace kedge::server
