// A JSON-like value: what a parameter or a fitted attribute can be.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kedge::schema {

struct Value;
using ValueList = std::vector<Value>;
using ValueMap = std::vector<std::pair<std::string, Value>>;   // keeps its order; keys are unique

struct Value {
  // Numbers: integers without fraction or exponent stay integers. `std::vector<double>` is a list of numbers kept
  // flat, for fitted attributes; in JSON it is an ordinary array, and an array read from JSON is a ValueList.
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>, ValueList, ValueMap>;
  Data data;

  Value() = default;
  Value(const Value& other) : data(copied(other.data)) {}
  Value(Value&&) noexcept = default;
  Value& operator=(const Value& other) { return data = copied(other.data), *this; }
  Value& operator=(Value&&) noexcept = default;
  ~Value() = default;
  Value(std::nullptr_t) {}
  Value(bool v) : data(v) {}
  Value(int v) : data(std::int64_t{v}) {}
  Value(std::int64_t v) : data(v) {}
  Value(double v) : data(v) {}
  Value(const char* v) : data(std::string(v)) {}
  Value(std::string v) : data(std::move(v)) {}
  Value(std::vector<double> v) : data(std::move(v)) {}
  Value(ValueList v) : data(std::move(v)) {}
  Value(ValueMap v) : data(std::move(v)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  friend bool operator==(const Value&, const Value&) = default;

 private:
  // The alternative is copied before there is a variant: where memory runs out in a variant's own copy, libstdc++ 12 (and clang
  // with it) destroys what it has not made yet, because strings and vectors are held to be never without a value.
  static Data copied(const Data& from) {
    return std::visit([]<class T>(const T& value) { return Data(std::in_place_type<T>, T(value)); }, from);
  }
};

// JSON text of a value, for messages and for the command line.
std::string to_string(const Value& value);

}  // namespace kedge::schema
