// The wire format of Protocol Buffers: fields of one message, one after the other, out of bytes that nothing is known
// of.
#pragma once

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge::engine {

// A message, read field by field: `while (wire.next()) switch (wire.field()) ...`. Borrows the bytes. A field that is
// not asked for is skipped. Errors of all calls: kModelCorrupt, "ONNX model: graph.node: byte 17 of it: ...".
class Wire {
 public:
  Wire(std::string_view bytes, std::string place) : bytes_(bytes), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  [[noreturn]] void fail(std::string_view problem) const {
    throw schema::Error(schema::ErrorCode::kModelCorrupt, fmt::format("{}: byte {} of it: {}", place_, at_, problem));
  }

  // To the next field; false at the end.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t key = read_varint();
    field_ = static_cast<std::int64_t>(key >> 3), type_ = static_cast<int>(key & 7);
    if (field_ == 0 || field_ > kMostField) fail(fmt::format("there is no field {}", field_));
    switch (type_) {
      case kVarint:
        number_ = read_varint();
        return true;
      case kFixed64:
        data_ = take(8);
        return true;
      case kFixed32:
        data_ = take(4);
        return true;
      case kBytes:
        data_ = take(read_varint());
        return true;
      default:
        fail(fmt::format("wire type {} is not known", type_));
    }
  }
  std::int64_t field() const { return field_; }

  std::int64_t integer() const { return expect(kVarint), static_cast<std::int64_t>(number_); }
  float real() const { return expect(kFixed32), fixed<float, std::uint32_t>(data_, 0); }
  std::string_view bytes() const { return expect(kBytes), data_; }
  Wire message(std::string place) const { return {bytes(), std::move(place)}; }

  // Of repeated numbers: the one, or all that are packed here.
  void integers(std::vector<std::int64_t>& numbers) const {
    if (type_ != kBytes) return numbers.push_back(integer());
    for (Wire packed(data_, place_); packed.at_ < data_.size();)
      numbers.push_back(static_cast<std::int64_t>(packed.read_varint()));
  }
  void floats(std::vector<double>& numbers) const { reals<float, std::uint32_t>(numbers, kFixed32); }
  void doubles(std::vector<double>& numbers) const { reals<double, std::uint64_t>(numbers, kFixed64); }

  // Little-endian numbers as a tensor has them.
  template <class V, class U>
  static V fixed(std::string_view bytes, std::size_t at) {
    U bits = 0;
    for (std::size_t i = 0; i < sizeof(U); ++i)
      bits |= static_cast<U>(static_cast<U>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
    return std::bit_cast<V>(bits);
  }

 private:
  static constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
  static constexpr std::int64_t kMostField = (1 << 29) - 1;

  void expect(int type) const {
    if (type_ != type) fail(fmt::format("field {} has wire type {}, must have {}", field_, type_, type));
  }
  std::uint64_t read_varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("it ends in a number");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return number;
    }
    fail("a number has more than ten bytes");
  }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail(fmt::format("{} bytes must follow, there are {}", size, bytes_.size() - at_));
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return taken;
  }
  template <class V, class U>
  void reals(std::vector<double>& numbers, int single) const {
    if (type_ != kBytes) expect(single);
    if (data_.size() % sizeof(V) != 0) fail(fmt::format("field {} has a part of a number", field_));
    for (std::size_t at = 0; at < data_.size(); at += sizeof(V))
      numbers.push_back(static_cast<double>(fixed<V, U>(data_, at)));
  }

  std::string_view bytes_, data_;
  std::string place_;
  std::size_t at_ = 0;
  std::int64_t field_ = 0;
  int type_ = 0;
  std::uint64_t number_ = 0;
};

}   // namespace kedge::engine
