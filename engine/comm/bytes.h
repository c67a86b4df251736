// Numbers and texts as bytes and back, between ranks of one build on like machines: nothing is converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schemas/error.h"

namespace kedge::engine {

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    append(&value, sizeof value);
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    static_assert(std::is_arithmetic_v<T>);
    number<std::uint64_t>(values.size());
    append(values.data(), values.size() * sizeof(T));
  }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    append(text.data(), text.size());
  }
  void append(const void* data, std::size_t size) {
    if (size == 0) return;
    const auto* const first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a ByteWriter wrote, in the same order. Borrows the bytes. Errors: kInternal beyond their end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> numbers() {
    const auto size = number<std::uint64_t>();
    if (size > bytes_.size() / sizeof(T)) fail();
    std::vector<T> values(size);
    if (size > 0) std::memcpy(values.data(), next(size * sizeof(T)).data(), size * sizeof(T));
    return values;
  }
  std::string text() {
    const std::span<const std::byte> bytes = next(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> rest() const { return bytes_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  [[noreturn]] static void fail() {
    throw schema::Error(schema::ErrorCode::kInternal, "a rank sent less than it announced");
  }
  std::span<const std::byte> next(std::size_t size) {
    if (size > bytes_.size()) fail();
    const std::span<const std::byte> part = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return part;
  }

  std::span<const std::byte> bytes_;
};

}   // namespace kedge::engine
