// NumPy's .npy files: a header that is a Python dictionary, then raw numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

// The media type of an array whose columns have names: a line that is a JSON list of them, empty for one of one
// dimension, and then the .npy file. Between kedged and its workers alone.
inline constexpr std::string_view kNamedNpy = "application/x-npy;names=first-line";

// A two-dimensional array (a one-dimensional one is a single column). A value.
struct NpyArray {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;   // row-major
};

// dtypes: little-endian or single-byte f4, f8, i1..i8, u1..u8, b1; C or Fortran order. Errors: kMalformed, for any other, and for a file that is
// cut short.
NpyArray read_npy(std::string_view bytes);

// The numbers of a C-ordered array of exactly this dtype ("<f8", "|u1"), as they lie in the file. Errors: kMalformed,
// for any other.
std::string_view npy_numbers(std::string_view bytes, std::string_view dtype);

// The header of an array of `shape` whose numbers are to follow. dtype: "<f8", "<f4", "<i8", "<U7".
std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape);

// Texts as an array of `shape` and "<Un": UTF-32, as long as the longest, with its header.
std::string npy_texts(const std::vector<std::string>& texts, std::span<const std::int64_t> shape);

}  // namespace kedge::engine
