// Walks a JSON document and the schema side by side: every key has its field, every value its type, every
// error its path.
#include "schemas/json_reader.h"

#include <new>
#include <simdjson.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "schemas/json_syntax.h"
#include "schemas/layout.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr double kLargestExactInteger =
    9007199254740992.0;  // 2^53: beyond it a double no longer says which integer was meant

std::string description(element json) {
  switch (json.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "the string " + quoted(json.get_string().value_unsafe());
    case element_type::BOOL:
      return json.get_bool().value_unsafe() ? "true" : "false";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "the number " + simdjson::minify(json);
  }
}

[[noreturn]] void wrong_type(const Path& path, std::string_view expected, element json) {
  fail(ErrorCode::kWrongType, path, "expected " + std::string(expected) + ", got " + description(json));
}

// Refuses a key that comes twice. Ordered, because an attacker that picks the keys could make a hash table
// slow.
class KeySet {
 public:
  void add(std::string_view key, const Path& path) {
    if (!keys_.insert(key).second) fail(ErrorCode::kInvalidValue, path, "comes twice");
  }

 private:
  std::set<std::string_view> keys_;
};

template <class Container>
unsigned count(Container container) {  // simdjson's own size() saturates at 2^24
  unsigned n = 0;
  for ([[maybe_unused]] auto item : container) ++n;
  return n;
}

Value read_value(element json, const Path& path, int depth);

Value read_list_value(simdjson::dom::array array, const Path& path, int depth) {
  ValueList list;
  list.reserve(count(array));
  for (element item : array)
    list.push_back(read_value(item, Path(path, static_cast<std::int64_t>(list.size())), depth + 1));
  return list;
}

Value read_map_value(simdjson::dom::object object, const Path& path, int depth) {
  ValueMap map;
  KeySet keys;
  for (auto [key, item] : object) {
    const Path item_path(path, key);
    keys.add(key, item_path);
    map.emplace_back(std::string(key), read_value(item, item_path, depth + 1));
  }
  return map;
}

Value read_value(element json, const Path& path, int depth) {
  if (depth > kMaxValueDepth)
    fail(ErrorCode::kMalformed, path, "nests deeper than " + std::to_string(kMaxValueDepth) + " levels");
  switch (json.type()) {
    case element_type::ARRAY:
      return read_list_value(json.get_array().value_unsafe(), path, depth);
    case element_type::OBJECT:
      return read_map_value(json.get_object().value_unsafe(), path, depth);
    case element_type::STRING:
      return std::string(json.get_string().value_unsafe());
    case element_type::BOOL:
      return json.get_bool().value_unsafe();
    case element_type::NULL_VALUE:
      return nullptr;
    case element_type::INT64:
      return json.get_int64().value_unsafe();
    default:
      return json.get_double()
          .value_unsafe();  // UINT64 too: what int64 cannot hold becomes the nearest double
  }
}

bool read_bool(element json, const Path& path) {
  bool value;
  if (json.get(value)) wrong_type(path, "true or false", json);
  return value;
}

std::int64_t read_integer(element json, const Path& path) {
  if (json.is_int64()) return json.get_int64().value_unsafe();
  if (json.is_uint64())
    fail(ErrorCode::kInvalidValue, path, "is " + simdjson::minify(json) + ", must be below 2^63");
  double number;
  if (json.get(number) || number != std::trunc(number)) wrong_type(path, "an integer", json);
  if (std::abs(number) > kLargestExactInteger)
    fail(ErrorCode::kInvalidValue, path,
         "is " + simdjson::minify(json) + ", must be an integer of at most 2^53 when written like this");
  return static_cast<std::int64_t>(number);
}

double read_number(element json, const Path& path) {
  double number;
  if (!json.get(number)) return number;
  std::string_view text;
  if (!json.get(text)) {
    if (text == "NaN") return std::nan("");
    if (text == "Infinity") return HUGE_VAL;
    if (text == "-Infinity") return -HUGE_VAL;
  }
  wrong_type(path, "a number", json);
}

std::string_view read_text(element json, const Path& path, std::string_view expected = "a string") {
  std::string_view text;
  if (json.get(text)) wrong_type(path, expected, json);
  return text;
}

capnp::DynamicEnum read_enum(capnp::EnumSchema schema, element json, const Path& path) {
  const std::vector<std::string_view> names = names_of(schema);
  const std::string_view name = read_text(json, path, "one of " + one_of(names));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return capnp::DynamicEnum(schema, static_cast<std::uint16_t>(i));
  fail(ErrorCode::kInvalidValue, path, "unknown value " + quoted(name) + "; " + did_you_mean(name, names));
}

capnp::DynamicValue::Reader read_scalar(capnp::Type type, element json, const Path& path) {
  switch (type.which()) {
    case capnp::schema::Type::BOOL:
      return read_bool(json, path);
    case capnp::schema::Type::INT64:
      return read_integer(json, path);
    case capnp::schema::Type::FLOAT64:
      return read_number(json, path);
    case capnp::schema::Type::ENUM:
      return read_enum(type.asEnum(), json, path);
    case capnp::schema::Type::TEXT: {
      const std::string_view text =
          read_text(json, path);  // simdjson puts a NUL behind its strings, as Text wants it
      return capnp::Text::Reader(text.data(), text.size());
    }
    default:
      throw std::logic_error("the JSON codec does not know this type of the schema");
  }
}

void read_struct(capnp::DynamicStruct::Builder builder, element json, const Path& path);

void read_list(capnp::DynamicList::Builder list, simdjson::dom::array array, const Path& path) {
  const capnp::Type type = list.getSchema().getElementType();
  unsigned i = 0;
  for (element item : array) {
    const Path item_path(path, i);
    if (type.isStruct())
      read_struct(list[i].as<capnp::DynamicStruct>(), item, item_path);
    else
      list.set(i, read_scalar(type, item, item_path));
    ++i;
  }
}

void read_numbers(capnp::List<double>::Builder list, simdjson::dom::array array, const Path& path) {
  unsigned i = 0;
  for (element item : array) {
    list.set(i, read_number(item, Path(path, i)));
    ++i;
  }
}

void read_field(capnp::DynamicStruct::Builder builder, capnp::StructSchema::Field field, element json,
                const Path& path);

void read_map(capnp::DynamicList::Builder list, simdjson::dom::object object, const Path& path) {
  const auto value_field = list.getSchema().getStructElementType().getFieldByName("value");
  KeySet keys;
  unsigned i = 0;
  for (auto [key, item] : object) {
    const Path item_path(path, key);
    keys.add(key, item_path);
    auto entry = list[i++].as<capnp::DynamicStruct>();
    entry.set("name", capnp::Text::Reader(key.data(), key.size()));
    read_field(entry, value_field, item, item_path);
  }
}

void read_list_field(capnp::DynamicStruct::Builder builder, capnp::StructSchema::Field field, element json,
                     const Path& path) {
  if (has_mark(field, Mark::kMap)) {
    simdjson::dom::object object;
    if (json.get(object)) wrong_type(path, "an object", json);
    return read_map(builder.init(field, count(object)).as<capnp::DynamicList>(), object, path);
  }
  simdjson::dom::array array;
  if (json.get(array)) wrong_type(path, "a list", json);
  auto list = builder.init(field, count(array));
  if (field.getType().asList().getElementType().isFloat64())
    read_numbers(list.as<capnp::List<double>>(), array, path);
  else
    read_list(list.as<capnp::DynamicList>(), array, path);
}

void read_field(capnp::DynamicStruct::Builder builder, capnp::StructSchema::Field field, element json,
                const Path& path) {
  const capnp::Type type = field.getType();
  if (type.isStruct())
    read_struct(builder.init(field).as<capnp::DynamicStruct>(), json, path);
  else if (type.isList())
    read_list_field(builder, field, json, path);
  else
    builder.set(field, read_scalar(type, json, path));
}

// What one object has had so far.
struct Seen {
  KeySet keys;
  std::vector<bool> fields;
  std::string_view union_member;
};

void read_member(capnp::DynamicStruct::Builder builder, std::string_view key, element json, const Path& path,
                 Seen& seen) {
  const Path member_path(path, key);
  seen.keys.add(key, member_path);
  const capnp::StructSchema schema = builder.getSchema();
  KJ_IF_MAYBE (field, schema.findFieldByName(kj::StringPtr(key.data(), key.size()))) {
    if (is_union_member(*field)) {
      if (!seen.union_member.empty())
        fail(ErrorCode::kInvalidValue, member_path,
             "excludes " + quoted(seen.union_member) + "; give one of them");
      seen.union_member = key;
    }
    seen.fields[field->getIndex()] = true;
    if (json.is_null() && has_mark(*field, Mark::kOptional)) return;
    read_field(builder, *field, json, member_path);
  } else {
    const std::string text =
        "unknown field " + quoted(key) + "; " + did_you_mean(key, names_of(schema.getFields()));
    throw Error{ErrorCode::kUnknownField, path.str().empty() ? text : path.str() + ": " + text,
                member_path.str()};
  }
}

void check_complete(capnp::StructSchema schema, const Seen& seen, const Path& path) {
  for (auto field : schema.getFields())
    if (has_mark(field, Mark::kRequired) && !seen.fields[field.getIndex()])
      fail(ErrorCode::kInvalidValue, Path(path, name_of(field)), "is required");
  if (schema.getUnionFields().size() > 0 && seen.union_member.empty())
    fail(ErrorCode::kInvalidValue, path, "needs one of " + one_of(names_of(schema.getUnionFields())));
}

void read_struct(capnp::DynamicStruct::Builder builder, element json, const Path& path) {
  const capnp::StructSchema schema = builder.getSchema();
  if (has_mark(schema, Mark::kAny)) return store(read_value(json, path, 0), builder.as<wire::Value>());
  if (has_mark(schema, Mark::kBare)) return read_field(builder, schema.getFields()[0], json, path);
  simdjson::dom::object object;
  if (json.get(object)) wrong_type(path, "an object", json);
  Seen seen{.fields = std::vector<bool>(schema.getFields().size())};
  for (auto [key, item] : object) read_member(builder, key, item, path, seen);
  check_complete(schema, seen, path);
}

// Values and keys in a text, so far as brackets, commas and colons outside of strings tell; it need not be
// well-formed.
std::size_t count_items(std::string_view text) {
  std::size_t items = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"')
      in_string = !in_string;
    else if (in_string)
      i += text[i] == '\\';
    else
      items += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
  }
  return items;
}

void check_size(std::string_view text, std::size_t max_items) {
  if (text.size() > max_items &&
      count_items(text) > max_items)  // the cheap test first: an item takes a character at least
    throw Error{ErrorCode::kBodyTooLarge,
                "JSON: more than " + std::to_string(max_items) + " values in one document"};
}

// The document lives as long as the parser.
element parse(simdjson::dom::parser& parser, std::string_view text) {
  element root;
  simdjson::error_code error = parser.allocate(std::max<std::size_t>(text.size(), 1), kMaxJsonDepth);
  if (!error) error = parser.parse(text.data(), text.size(), true).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::CAPACITY)
    throw Error{ErrorCode::kBodyTooLarge,
                "JSON: " + std::to_string(text.size()) + " bytes are too many to parse"};
  if (error) throw_syntax_error(text, simdjson::error_message(error));
  return root;
}

}  // namespace

void read_json(std::string_view text, capnp::DynamicStruct::Builder root, std::size_t max_items) {
  check_size(text, max_items);
  simdjson::dom::parser parser;
  read_struct(root, parse(parser, text), Path());
}

Value read_json_value(std::string_view text) {
  simdjson::dom::parser parser;
  return read_value(parse(parser, text), Path(), 0);
}

}  // namespace kedge::schema
