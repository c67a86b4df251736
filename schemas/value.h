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
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>, ValueList, ValueMap> data;

  Value() = default;
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
};

// JSON text of a value, for messages and for the command line.
std::string to_string(const Value& value);

}  // namespace kedge::schema
