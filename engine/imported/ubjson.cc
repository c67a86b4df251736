// Reads Universal Binary JSON (draft 12): markers, big-endian numbers, counted and typed arrays.
#include "engine/imported/ubjson.h"

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr int kMostDepth = 32;

class UbjsonReader {
 public:
  explicit UbjsonReader(std::string_view bytes) : bytes_(bytes) {}

  Value document() {
    Value value = read(marker(), 0);
    if (at_ != bytes_.size()) fail("more follows the end of the document");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw schema::Error(schema::ErrorCode::kModelCorrupt, fmt::format("UBJSON: byte {}: {}", at_, problem));
  }
  std::size_t rest() const { return bytes_.size() - at_; }

  char marker() {
    while (rest() > 0 && bytes_[at_] == 'N') ++at_;
    if (rest() == 0) fail("the document ends here, something must follow");
    return bytes_[at_++];
  }
  bool takes(char wanted) {
    if (rest() == 0 || bytes_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string_view take(std::size_t size) {
    if (size > rest()) fail(fmt::format("{} bytes must follow, there are {}", size, rest()));
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  template <class U>
  U unsigned_number() {
    const std::string_view raw = take(sizeof(U));
    U number = 0;
    for (const char byte : raw) number = static_cast<U>(std::uint64_t{number} << 8 | static_cast<unsigned char>(byte));
    return number;
  }

  static std::size_t width_of(char type) {
    switch (type) {
      case 'i':
      case 'U':
        return 1;
      case 'I':
        return 2;
      case 'l':
      case 'd':
        return 4;
      case 'L':
      case 'D':
        return 8;
      default:
        return 0;   // no number
    }
  }
  std::int64_t integer(char type) {
    switch (type) {
      case 'i':
        return static_cast<std::int8_t>(unsigned_number<std::uint8_t>());
      case 'U':
        return unsigned_number<std::uint8_t>();
      case 'I':
        return static_cast<std::int16_t>(unsigned_number<std::uint16_t>());
      case 'l':
        return static_cast<std::int32_t>(unsigned_number<std::uint32_t>());
      case 'L':
        return static_cast<std::int64_t>(unsigned_number<std::uint64_t>());
      default:
        --at_;
        fail(fmt::format("the marker {} must be one of an integer", static_cast<int>(type)));
    }
  }
  double number(char type) {
    if (type == 'd') return static_cast<double>(std::bit_cast<float>(unsigned_number<std::uint32_t>()));
    if (type == 'D') return std::bit_cast<double>(unsigned_number<std::uint64_t>());
    return static_cast<double>(integer(type));
  }
  // A length, which `unit` bytes each must follow.
  std::size_t size(std::size_t unit) {
    const std::int64_t count = integer(marker());
    if (count < 0 || static_cast<std::uint64_t>(count) > rest() / unit)
      fail(fmt::format("a length is {}, there are {} bytes left", count, rest()));
    return static_cast<std::size_t>(count);
  }
  std::string text() { return std::string(take(size(1))); }

  Value read(char type, int depth) {
    if (depth > kMostDepth) fail(fmt::format("nests deeper than {} levels", kMostDepth));
    switch (type) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case 'S':
        return text();
      case 'C':
        return std::string(take(1));
      case 'Z':
        return {};
      case 'T':
        return true;
      case 'F':
        return false;
      case 'd':
      case 'D':
        return number(type);
      default:
        return integer(type);
    }
  }

  Value array(int depth) {
    if (takes('$')) return typed_array();
    ValueList list;
    if (takes('#')) {
      const std::size_t count = size(1);
      for (std::size_t i = 0; i < count; ++i) list.push_back(read(marker(), depth + 1));
      return list;
    }
    for (char next = marker(); next != ']'; next = marker()) list.push_back(read(next, depth + 1));
    return list;
  }
  Value typed_array() {
    const char type = marker();
    const std::size_t width = width_of(type);
    if (width == 0) fail("an array of this type is not known");
    if (!takes('#')) fail("the count of a typed array must follow");
    std::vector<double> numbers(size(width));
    for (double& each : numbers) each = number(type);
    return numbers;
  }
  Value object(int depth) {
    ValueMap map;
    const bool is_counted = takes('#');
    const std::size_t count = is_counted ? size(1) : 0;
    for (std::size_t i = 0; is_counted ? i < count : !takes('}'); ++i) {
      std::string key = text();
      map.emplace_back(std::move(key), read(marker(), depth + 1));
    }
    return map;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}   // namespace

Value read_ubjson(std::string_view bytes) {
  return UbjsonReader(bytes).document();
}

}   // namespace kedge::engine
