// Reads and writes .npy, format versions 1 to 3. Source: numpy.lib.format.
#include "engine/core/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr std::string_view kMagic("\x93NUMPY", 6);

template <class... Args>
void require_npy(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw schema::Error(ErrorCode::kMalformed, "npy: " + fmt::format(text, std::forward<Args>(args)...));
}

// What stands behind 'key': in the header's dictionary.
std::string_view after_key(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  require_npy(at != std::string_view::npos, "the header has no '{}'", key);
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::vector<std::int64_t> shape_of(std::string_view text) {
  require_npy(!text.empty() && text.front() == '(', "the shape is no tuple");
  std::vector<std::int64_t> shape;
  std::int64_t number = -1;   // none yet
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      number = (number < 0 ? 0 : number) * 10 + (c - '0');
      require_npy(number <= (std::int64_t{1} << 40), "the shape is too large");
    } else if (c == ',' || c == ')') {
      if (number >= 0) shape.push_back(number);
      number = -1;
      if (c == ')') return shape;
    } else {
      require_npy(c == ' ' || c == 'L', "the shape cannot be read");
    }
  }
  require_npy(false, "the shape has no end");
  return shape;
}

template <class E>
double element_at(const char* at) {
  E value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}

using Reader = double (*)(const char*);
struct Element {
  std::string_view dtype;
  std::int64_t bytes;
  Reader read;
};
constexpr Element kElements[] = {
    {"f8", 8, element_at<double>},        {"f4", 4, element_at<float>},         {"i8", 8, element_at<std::int64_t>},
    {"i4", 4, element_at<std::int32_t>},  {"i2", 2, element_at<std::int16_t>},  {"i1", 1, element_at<std::int8_t>},
    {"u8", 8, element_at<std::uint64_t>}, {"u4", 4, element_at<std::uint32_t>}, {"u2", 2, element_at<std::uint16_t>},
    {"u1", 1, element_at<std::uint8_t>},  {"b1", 1, element_at<std::uint8_t>}};

const Element& element_of(std::string_view descr) {
  require_npy(descr.size() >= 4 && descr[0] == '\'', "the dtype cannot be read");
  const char order = descr[1];
  for (const Element& element : kElements) {
    const bool is_it = descr.substr(2, 2) == element.dtype && descr.substr(4, 1) == "'";
    if (is_it && (order == '<' || order == '=' || (order == '|' && element.bytes == 1))) return element;
  }
  const std::string_view shown = descr.substr(0, std::min<std::size_t>(16, descr.size()));
  require_npy(false, "the dtype {} is not one of little-endian numbers", shown);
  return kElements[0];
}

// The header's text; moves `bytes` behind it.
std::string_view take_header(std::string_view& bytes) {
  require_npy(bytes.size() >= 10 && bytes.starts_with(kMagic), "the first bytes are not those of a .npy file");
  const int version = bytes[6];
  require_npy(version >= 1 && version <= 3, "format version {} is not known", version);
  const std::size_t prefix = version == 1 ? 10 : 12;
  require_npy(bytes.size() >= prefix, "it is cut short");
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data() + 8, version == 1 ? 2 : 4);
  require_npy(size <= bytes.size() - prefix, "it is cut short");
  const std::string_view header = bytes.substr(prefix, size);
  bytes.remove_prefix(prefix + size);
  return header;
}

std::u32string utf32_of(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t code = length == 1 ? lead : lead & (0x7F >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k) code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    out.push_back(code);
    i += length;
  }
  return out;
}

}  // namespace

NpyArray read_npy(std::string_view bytes) {
  const std::string_view header = take_header(bytes);
  const Element& element = element_of(after_key(header, "descr"));
  const bool is_fortran = after_key(header, "fortran_order").starts_with("True");
  const std::vector<std::int64_t> shape = shape_of(after_key(header, "shape"));
  require_npy(shape.size() == 1 || shape.size() == 2, "it has {} dimensions, must have two", shape.size());
  NpyArray array{.rows = shape[0], .cols = shape.size() == 2 ? shape[1] : 1};
  const auto room = static_cast<std::int64_t>(bytes.size()) / element.bytes;
  require_npy(array.cols == 0 || array.rows <= room / array.cols, "it has {} bytes of numbers, fewer than {} x {} of them take", bytes.size(),
              array.rows, array.cols);
  array.values.resize(static_cast<std::size_t>(array.rows * array.cols));
  for (std::int64_t i = 0; i < array.rows; ++i) {
    for (std::int64_t j = 0; j < array.cols; ++j) {
      const std::int64_t at = is_fortran ? j * array.rows + i : i * array.cols + j;
      array.values[static_cast<std::size_t>(i * array.cols + j)] = element.read(bytes.data() + at * element.bytes);
    }
  }
  return array;
}

std::string_view npy_numbers(std::string_view bytes, std::string_view dtype) {
  const std::string_view header = take_header(bytes), descr = after_key(header, "descr");
  require_npy(descr.starts_with(fmt::format("'{}'", dtype)), "the dtype is not {}", dtype);
  require_npy(after_key(header, "fortran_order").starts_with("False"), "the order is not C");
  const Element& element = element_of(descr);
  std::int64_t size = 1;
  for (const std::int64_t extent : shape_of(after_key(header, "shape"))) {
    require_npy(extent == 0 || size <= (std::int64_t{1} << 60) / extent, "the shape is too large");
    size *= extent;
  }
  require_npy(size * element.bytes == static_cast<std::int64_t>(bytes.size()),
              "it has {} bytes of numbers, must have {}", bytes.size(), size * element.bytes);
  return bytes;
}

std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape) {
  std::string tuple;
  for (const std::int64_t extent : shape) tuple += fmt::format("{},", extent);
  if (shape.size() > 1) tuple.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", dtype, tuple);
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  text.append(kAlignment - (kPrefix + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  const auto size = static_cast<std::uint16_t>(text.size());
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(size & 255), static_cast<char>(size >> 8)};
  return header + text;
}

std::string npy_texts(const std::vector<std::string>& texts, std::span<const std::int64_t> shape) {
  std::vector<std::u32string> wide;
  std::size_t longest = 1;
  for (const std::string& text : texts) wide.push_back(utf32_of(text)), longest = std::max(longest, wide.back().size());
  std::string out = npy_header(fmt::format("<U{}", longest), shape);
  for (std::u32string& text : wide) {
    text.resize(longest, U'\0');
    out.append(reinterpret_cast<const char*>(text.data()), text.size() * sizeof(char32_t));
  }
  return out;
}

}  // namespace kedge::engine
