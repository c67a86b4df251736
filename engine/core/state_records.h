// The records of a model's state, as the file holds them: name, type, value. StateArchive writes and checks them; other
// forms of a model are made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/value.h"

namespace kedge::engine {

enum class StateType : std::uint8_t {
  kFloat32 = 1,
  kFloat64,
  kInt32,
  kInt64,
  kUint8,   // tensors
  kBool,
  kText,
  kValue,
  kTexts,
  kNumber,
  kReal,
  kCount
};

// "float32", "value" ...: how the open form of a model names a type. Empty: there is no such type.
std::string_view name_of(StateType type);
std::size_t element_bytes(StateType type);   // of a tensor's numbers; 0: the type is no tensor

struct StateRecord {
  std::string name;
  StateType type{};
  std::int64_t rows = 0, cols = 0;      // of a tensor
  std::span<const std::byte> numbers;   // of a tensor, row-major, little-endian
  schema::Value value;                  // of all others: a bool, text, list of texts, integer, real or any value
};

// A value as bytes, which keep what kind of number it has and a double's bits.
std::string value_bytes(const schema::Value& value);
// Nothing is trusted: a value takes at most sizeof(Value) bytes for each byte given. Errors: std::length_error.
schema::Value value_of_bytes(std::span<const std::byte> bytes);

// Calls visit for each record in order. Nothing is trusted. Errors: kModelCorrupt.
void for_records(std::span<const std::byte> state, std::span<const std::byte> tensors,
                 const std::function<void(const StateRecord&)>& visit);

// The record's bytes in the state; its numbers go elsewhere.
void append_record(std::string& state, const StateRecord& record);

}   // namespace kedge::engine
