// The header of a .npy array, and its elements as numbers or texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

struct NpyHeader {
  char kind = 0;          // b, i, u and f are numbers, U and S texts, readers of the elements refuse others
  std::size_t size = 0;   // bytes of an element
  bool swapped = false, fortran = false;
  std::vector<std::int64_t> shape;   // each at least 0
  std::size_t bytes = 0;             // of the header, behind which the elements begin
  std::string type;                  // as it is written

  bool is_number() const;   // a boolean, integer or float of up to 64 bits
  bool may_be_inexact() const { return (kind == 'i' || kind == 'u') && size == 8; }   // as a double
  bool is_exact_in_float() const { return kind == 'f' ? size == 4 : size <= 2; }
};

inline constexpr std::size_t kLongestNpyHeader = 64 * 1024;
inline constexpr double kLargestExact = 9007199254740992.0;   // 2^53

// Versions 1 to 3. `bytes` begin with the header. Errors: kDatasetCorrupt, "SOURCE: ...".
NpyHeader read_npy_header(std::string_view bytes, const std::string& source);

// "the type |O is not a boolean, integer or float of up to 64 bits", with what to do about it.
std::string npy_type_problem(const NpyHeader& header);

// One number; `at` has header.size bytes.
double npy_number(const NpyHeader& header, const char* at);

// As many numbers as `values` takes, one behind the other from `at` on.
void npy_numbers(const NpyHeader& header, const char* at, std::span<double> values);

// One text of kind U or S as UTF-8, without the zeros that fill it. Code points that are none become U+FFFD.
std::string npy_text(const NpyHeader& header, std::string_view element);

}   // namespace kedge::server
