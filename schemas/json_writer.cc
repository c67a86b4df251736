// Walks a struct and writes its fields, in the order of the schema, by their annotations.
#include "schemas/json_writer.h"

#include <stdexcept>

#include "schemas/layout.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

void append_struct(std::string& out, capnp::DynamicStruct::Reader reader, const StructLayout& layout);
void append_field(std::string& out, capnp::DynamicStruct::Reader reader, const FieldLayout& entry);
void append_value(std::string& out, wire::Value::Reader value);

std::string_view view(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

// append(i) for each of `n`, with commas, in these brackets.
template <class Append>
void append_series(std::string& out, std::string_view brackets, unsigned n, const Append& append) {
  out += brackets[0];
  for (unsigned i = 0; i < n; ++i) {
    if (i) out += ',';
    append(i);
  }
  out += brackets[1];
}

void append_numbers(std::string& out, capnp::List<double>::Reader list) {
  append_series(out, "[]", list.size(), [&](unsigned i) { append_json_number(out, list[i]); });
}

// `content`: of a struct.
void append_item(std::string& out, capnp::DynamicValue::Reader value, const StructLayout* content) {
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
      append_struct(out, value.as<capnp::DynamicStruct>(), *content);
      break;
    case capnp::DynamicValue::ENUM:
      KJ_IF_MAYBE (enumerant, value.as<capnp::DynamicEnum>().getEnumerant())
        append_json_string(out, name_of(*enumerant));
      break;
    default:
      throw std::logic_error("the JSON codec does not know this type of the schema");
  }
}

void append_map(std::string& out, capnp::DynamicList::Reader list, const StructLayout& entry) {
  append_series(out, "{}", list.size(), [&](unsigned i) {
    const auto item = list[i].as<capnp::DynamicStruct>();
    append_json_string(out, view(item.get(entry.fields[kMapName].field).as<capnp::Text>()));
    out += ':';
    append_field(out, item, entry.fields[kMapValue]);
  });
}

void append_field(std::string& out, capnp::DynamicStruct::Reader reader, const FieldLayout& entry) {
  const capnp::DynamicValue::Reader value = reader.get(entry.field);
  if (value.getType() != capnp::DynamicValue::LIST) return append_item(out, value, entry.content);
  const auto list = value.as<capnp::DynamicList>();
  if (entry.is_map)
    append_map(out, list, *entry.content);
  else if (entry.is_number)
    append_numbers(out, list.as<capnp::List<double>>());
  else
    append_series(out, "[]", list.size(), [&](unsigned i) { append_item(out, list[i], entry.content); });
}

// `active`: the member of the union that is there; empty: none.
bool is_shown(capnp::DynamicStruct::Reader reader, const FieldLayout& entry, const kj::Maybe<capnp::StructSchema::Field>& active) {
  if (entry.is_member) {
    KJ_IF_MAYBE (member, active) return *member == entry.field;
    return false;
  }
  return !entry.is_optional || reader.has(entry.field, capnp::HasMode::NON_DEFAULT);
}

void append_members(std::string& out, capnp::DynamicStruct::Reader reader, const StructLayout& layout) {
  const kj::Maybe<capnp::StructSchema::Field> active = layout.has_union ? reader.which() : nullptr;
  char separator = '{';
  for (const FieldLayout& entry : layout.fields) {
    if (!is_shown(reader, entry, active)) continue;
    out += separator;
    out += entry.json_key;
    append_field(out, reader, entry);
    separator = ',';
  }
  out += separator == '{' ? "{}" : "}";
}

void append_object(std::string& out, capnp::List<wire::NamedValue>::Reader members) {
  append_series(out, "{}", members.size(), [&](unsigned i) {
    append_json_string(out, view(members[i].getName()));
    out += ':';
    append_value(out, members[i].getValue());
  });
}

void append_value(std::string& out, wire::Value::Reader value) {
  switch (value.which()) {
    case wire::Value::NOTHING:
      out += "null";
      break;
    case wire::Value::BOOLEAN:
      out += value.getBoolean() ? "true" : "false";
      break;
    case wire::Value::INTEGER:
      append_json_number(out, value.getInteger());
      break;
    case wire::Value::NUMBER:
      append_json_number(out, value.getNumber());
      break;
    case wire::Value::TEXT:
      append_json_string(out, view(value.getText()));
      break;
    case wire::Value::NUMBERS:
      append_numbers(out, value.getNumbers());
      break;
    case wire::Value::LIST: {
      const auto list = value.getList();
      append_series(out, "[]", list.size(), [&](unsigned i) { append_value(out, list[i]); });
      break;
    }
    case wire::Value::OBJECT:
      append_object(out, value.getObject());
      break;
  }
}

void append_struct(std::string& out, capnp::DynamicStruct::Reader reader, const StructLayout& layout) {
  if (layout.is_any)
    append_value(out, reader.as<wire::Value>());
  else if (layout.is_bare)
    append_field(out, reader, layout.fields.front());
  else
    append_members(out, reader, layout);
}

}  // namespace

void append_json(std::string& out, capnp::DynamicStruct::Reader root) {
  append_struct(out, root, layout_of(root.getSchema()));
}

}  // namespace kedge::schema
