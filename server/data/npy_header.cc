// Reads the header of a .npy array: see npy_header.h.
#include "server/data/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using std::string_view;

[[noreturn]] void refuse(const std::string& source, string_view what) {
  throw schema::Error(schema::ErrorCode::kDatasetCorrupt, fmt::format("{}: {}", source, what));
}

// The text behind 'key': in the header, a Python dict.
string_view value_of(string_view dict, string_view key, const std::string& source) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    const auto at = dict.find(quoted);
    if (at == string_view::npos) continue;
    const auto start = dict.find_first_not_of(" :", at + quoted.size());
    if (start != string_view::npos) return dict.substr(start);
  }
  refuse(source, fmt::format("the header has no '{}'", key));
}

// '<f8', '|b1', '<U12', '|O'.
void read_type(string_view text, NpyHeader& header, const std::string& source) {
  const auto end = text.empty() || (text[0] != '\'' && text[0] != '"') ? string_view::npos : text.find(text[0], 1);
  if (end == string_view::npos || end < 3 || string_view("<>|=").find(text[1]) == string_view::npos)
    refuse(source, "the header's descr is no simple type");
  header.type = text.substr(1, std::min<std::size_t>(end - 1, 12));
  header.kind = text[2];
  const string_view digits = text.substr(3, end - 3);
  if (header.kind == 'O') return;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), header.size);
  if (error != std::errc() || stop != digits.data() + digits.size())
    header.kind = '?';   // such as a date with its unit
  constexpr std::size_t kLongestText = 1 << 20, kUtf32 = 4;
  if (header.kind == 'U' && header.size <= kLongestText) header.size *= kUtf32;
  header.swapped = text[1] == '>' && header.size > 1;
}

void read_shape(string_view text, NpyHeader& header, const std::string& source) {
  constexpr std::size_t kMostDimensions = 32;
  const auto close = text.find(')');
  if (text.empty() || text[0] != '(' || close == string_view::npos) refuse(source, "the header's shape is no tuple");
  string_view rest = text.substr(1, close - 1);
  while (header.shape.size() < kMostDimensions) {
    const auto start = rest.find_first_not_of(" ,");
    if (start == string_view::npos) return;
    rest.remove_prefix(start);
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc() || size < 0) refuse(source, "the header's shape is not made of numbers");
    header.shape.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
}

template <class Raw>
double load(const char* at, bool swapped) {
  char bytes[sizeof(Raw)];
  std::memcpy(bytes, at, sizeof bytes);
  if (swapped) std::reverse(std::begin(bytes), std::end(bytes));
  return static_cast<double>(std::bit_cast<Raw>(bytes));
}

// Calls use(Raw()) with the type of an element.
template <class Use>
auto with_type(const NpyHeader& header, const Use& use) {
  const bool is_signed = header.kind == 'i';
  if (header.kind == 'f') return header.size == 4 ? use(float()) : use(double());
  switch (header.size) {
    case 1:
      return is_signed ? use(std::int8_t()) : use(std::uint8_t());
    case 2:
      return is_signed ? use(std::int16_t()) : use(std::uint16_t());
    case 4:
      return is_signed ? use(std::int32_t()) : use(std::uint32_t());
    default:
      return is_signed ? use(std::int64_t()) : use(std::uint64_t());
  }
}

void append_utf8(std::string& text, std::uint32_t point) {
  constexpr std::uint32_t kNone = 0xFFFD;
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) point = kNone;
  const auto rest = [&](int shift) { text += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) return void(text += static_cast<char>(point));
  if (point < 0x800) return void(text += static_cast<char>(0xC0 | point >> 6)), rest(0);
  if (point < 0x10000) return void(text += static_cast<char>(0xE0 | point >> 12)), rest(6), rest(0);
  text += static_cast<char>(0xF0 | point >> 18);
  rest(12), rest(6), rest(0);
}

}   // namespace

bool NpyHeader::is_number() const {
  const bool is_width = size == 1 || size == 2 || size == 4 || size == 8;
  return (kind == 'b' && size == 1) || ((kind == 'i' || kind == 'u') && is_width) ||
         (kind == 'f' && (size == 4 || size == 8));
}

NpyHeader read_npy_header(string_view bytes, const std::string& source) {
  constexpr std::size_t kBegin = 8;
  if (bytes.size() < 10 || !bytes.starts_with("\x93NUMPY")) refuse(source, "this is no .npy file");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) refuse(source, fmt::format("version {} of the format is not known", version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < kBegin + width) refuse(source, "it ends inside its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[kBegin + i])) << 8 * i;
  if (length > kLongestNpyHeader || length > bytes.size() - kBegin - width) refuse(source, "it ends inside its header");
  const string_view dict = bytes.substr(kBegin + width, length);
  NpyHeader header;
  read_type(value_of(dict, "descr", source), header, source);
  read_shape(value_of(dict, "shape", source), header, source);
  header.fortran = value_of(dict, "fortran_order", source).starts_with("True");
  header.bytes = kBegin + width + length;
  return header;
}

std::string npy_type_problem(const NpyHeader& header) {
  const string_view hint =
      header.kind == 'O'   ? ": objects are pickles, which are not read; send numbers, or categories and their codes"
      : header.kind == 'c' ? ": send the real and the imaginary part as two columns"
                           : "";
  return fmt::format("the type '{}' is not a boolean, integer or float of up to 64 bits{}", header.type, hint);
}

double npy_number(const NpyHeader& header, const char* at) {
  return with_type(header, [&](auto raw) { return load<decltype(raw)>(at, header.swapped); });
}

void npy_numbers(const NpyHeader& header, const char* at, std::span<double> values) {
  with_type(header, [&](auto raw) {
    using Raw = decltype(raw);
    if (header.swapped)
      for (double& value : values) value = load<Raw>(at, true), at += sizeof(Raw);
    else
      for (double& value : values) value = load<Raw>(at, false), at += sizeof(Raw);
    return 0;
  });
}

std::string npy_text(const NpyHeader& header, string_view element) {
  std::string text;
  if (header.kind == 'S') {
    text = element.substr(0, element.find_last_not_of('\0') + 1);
  } else {
    for (; element.size() >= 4; element.remove_prefix(4)) {
      char bytes[4];
      std::memcpy(bytes, element.data(), sizeof bytes);
      if (header.swapped) std::reverse(std::begin(bytes), std::end(bytes));
      append_utf8(text, std::bit_cast<std::uint32_t>(bytes));
    }
    text.resize(text.find_last_not_of('\0') + 1);
  }
  return text;
}

}   // namespace kedge::server
