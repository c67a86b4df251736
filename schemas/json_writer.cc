// Walks a struct and writes its fields, in the order of the schema, by their annotations.
#include "schemas/json_writer.h"

#include <stdexcept>

#include "schemas/layout.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

void append_struct(std::string& out, capnp::DynamicStruct::Reader reader);
void append_field(std::string& out, capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field);

std::string_view view(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

void append_item(std::string& out, capnp::DynamicValue::Reader value) {
  switch (value.getType()) {
    case capnp::DynamicValue::BOOL:
      out += value.as<bool>() ? "true" : "false";
      break;
    case capnp::DynamicValue::INT:
      append_json_number(out, value.as<std::int64_t>());
      break;
    case capnp::DynamicValue::FLOAT:
      append_json_number(out, value.as<double>());
      break;
    case capnp::DynamicValue::TEXT:
      append_json_string(out, view(value.as<capnp::Text>()));
      break;
    case capnp::DynamicValue::STRUCT:
      append_struct(out, value.as<capnp::DynamicStruct>());
      break;
    case capnp::DynamicValue::ENUM:
      KJ_IF_MAYBE (enumerant, value.as<capnp::DynamicEnum>().getEnumerant())
        append_json_string(out, name_of(*enumerant));
      break;
    default:
      throw std::logic_error("the JSON codec does not know this type of the schema");
  }
}

template <class List>
void append_list(std::string& out, List list) {
  out += '[';
  for (unsigned i = 0; i < list.size(); ++i) {
    if (i) out += ',';
    if constexpr (std::is_same_v<List, capnp::List<double>::Reader>)
      append_json_number(out, list[i]);
    else
      append_item(out, list[i]);
  }
  out += ']';
}

void append_map(std::string& out, capnp::DynamicList::Reader list) {
  const auto value_field = list.getSchema().getStructElementType().getFieldByName("value");
  out += '{';
  for (unsigned i = 0; i < list.size(); ++i) {
    const auto entry = list[i].as<capnp::DynamicStruct>();
    if (i) out += ',';
    append_json_string(out, view(entry.get("name").as<capnp::Text>()));
    out += ':';
    append_field(out, entry, value_field);
  }
  out += '}';
}

void append_field(std::string& out, capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field) {
  const capnp::DynamicValue::Reader value = reader.get(field);
  if (value.getType() != capnp::DynamicValue::LIST) return append_item(out, value);
  const auto list = value.as<capnp::DynamicList>();
  if (has_mark(field, Mark::kMap))
    append_map(out, list);
  else if (list.getSchema().getElementType().isFloat64())
    append_list(out, list.as<capnp::List<double>>());
  else
    append_list(out, list);
}

bool is_shown(capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field) {
  if (is_union_member(field)) {
    KJ_IF_MAYBE (active, reader.which()) return *active == field;
    return false;
  }
  return !has_mark(field, Mark::kOptional) || reader.has(field, capnp::HasMode::NON_DEFAULT);
}

void append_members(std::string& out, capnp::DynamicStruct::Reader reader) {
  char separator = '{';
  for (auto field : reader.getSchema().getFields()) {
    if (!is_shown(reader, field)) continue;
    out += separator;
    append_json_string(out, name_of(field));
    out += ':';
    append_field(out, reader, field);
    separator = ',';
  }
  out += separator == '{' ? "{}" : "}";
}

void append_struct(std::string& out, capnp::DynamicStruct::Reader reader) {
  const capnp::StructSchema schema = reader.getSchema();
  if (has_mark(schema, Mark::kAny)) {
    Value value;
    load(value, reader.as<wire::Value>());
    append_json_value(out, value);
  } else if (has_mark(schema, Mark::kBare)) {
    append_field(out, reader, schema.getFields()[0]);
  } else {
    append_members(out, reader);
  }
}

}  // namespace

void append_json(std::string& out, capnp::DynamicStruct::Reader root) {
  append_struct(out, root);
}

}  // namespace kedge::schema
