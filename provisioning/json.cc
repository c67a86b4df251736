// Navigation of JSON values.
#include "provisioning/json.h"

#include <charconv>
#include <cstdlib>

#include "schemas/codec.h"

namespace kedge::provisioning::json {
namespace {

const Value kNull;
const ValueList kNoList;
const ValueMap kNoMap;

const Value& step(const Value& value, std::string_view key) {
  if (const auto* members = std::get_if<ValueMap>(&value.data)) {
    for (const auto& [name, member] : *members)
      if (name == key) return member;
  } else if (const auto* items = std::get_if<ValueList>(&value.data)) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error == std::errc() && end == key.data() + key.size() && index < items->size()) return (*items)[index];
  }
  return kNull;
}

}  // namespace

const Value& at(const Value& value, std::string_view path) {
  const Value* here = &value;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    here = &step(*here, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *here;
}

std::string text(const Value& value, std::string_view path, std::string otherwise) {
  const Value& found = at(value, path);
  if (const auto* string = std::get_if<std::string>(&found.data)) return *string;
  if (std::holds_alternative<std::int64_t>(found.data) || std::holds_alternative<double>(found.data) ||
      std::holds_alternative<bool>(found.data))
    return schema::value_to_json(found);
  return otherwise;
}

double number(const Value& value, std::string_view path, double otherwise) {
  const Value& found = at(value, path);
  if (const auto* integer = std::get_if<std::int64_t>(&found.data)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&found.data)) return *real;
  if (const auto* string = std::get_if<std::string>(&found.data)) {
    char* end = nullptr;
    const double parsed = std::strtod(string->c_str(), &end);
    if (end != string->c_str()) return parsed;
  }
  return otherwise;
}

bool truth(const Value& value, std::string_view path, bool otherwise) {
  const auto* found = std::get_if<bool>(&at(value, path).data);
  return found ? *found : otherwise;
}

const ValueList& list(const Value& value, std::string_view path) {
  const auto* found = std::get_if<ValueList>(&at(value, path).data);
  return found ? *found : kNoList;
}

const ValueMap& map(const Value& value, std::string_view path) {
  const auto* found = std::get_if<ValueMap>(&at(value, path).data);
  return found ? *found : kNoMap;
}

Value parse(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  try {
    return schema::value_from_json(text);
  } catch (const schema::Error&) {
    return Value(std::string(text));
  }
}

std::string write(const Value& value) {
  return schema::value_to_json(value);
}

}  // namespace kedge::provisioning::json
