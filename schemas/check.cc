// Walks a received struct by its schema. Lists of numbers need no look: every bit pattern is a number.
#include "schemas/check.h"

#include <simdjson.h>

#include <set>

#include "schemas/layout.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

void check_struct(capnp::DynamicStruct::Reader reader, const Path& path, int value_depth);

std::string_view checked_text(capnp::Text::Reader text, const Path& path) {
  if (!simdjson::validate_utf8(text.begin(), text.size())) fail(ErrorCode::kMalformed, path, "is not valid UTF-8");
  return {text.begin(), text.size()};
}

void check_item(capnp::DynamicValue::Reader value, const Path& path, int value_depth) {
  switch (value.getType()) {
    case capnp::DynamicValue::TEXT: checked_text(value.as<capnp::Text>(), path); break;
    case capnp::DynamicValue::STRUCT: check_struct(value.as<capnp::DynamicStruct>(), path, value_depth); break;
    case capnp::DynamicValue::ENUM: {
      const auto item = value.as<capnp::DynamicEnum>();
      if (item.getEnumerant() == nullptr) fail(ErrorCode::kInvalidValue, path, "unknown value number " + std::to_string(item.getRaw()));
      break;
    }
    default: break;
  }
}

void check_map(capnp::DynamicList::Reader list, const Path& path, int value_depth) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < list.size(); ++i) {
    const auto entry = list[i].as<capnp::DynamicStruct>();
    const std::string_view name = checked_text(entry.get("name").as<capnp::Text>(), Path(path, i));
    const Path entry_path(path, name);
    if (!names.insert(name).second) fail(ErrorCode::kInvalidValue, entry_path, "comes twice");
    const capnp::DynamicValue::Reader value = entry.get("value");
    if (value.getType() == capnp::DynamicValue::LIST) check_map(value.as<capnp::DynamicList>(), entry_path, value_depth);
    else check_item(value, entry_path, value_depth);
  }
}

void check_list(capnp::DynamicList::Reader list, const Path& path, int value_depth) {
  const capnp::Type type = list.getSchema().getElementType();
  if (!type.isStruct() && !type.isText() && !type.isEnum()) return;
  for (unsigned i = 0; i < list.size(); ++i) check_item(list[i], Path(path, i), value_depth);
}

void check_field(capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field, const Path& path, int value_depth) {
  const capnp::DynamicValue::Reader value = reader.get(field);
  if (value.getType() != capnp::DynamicValue::LIST) check_item(value, path, value_depth);
  else if (has_mark(field, Mark::kMap)) check_map(value.as<capnp::DynamicList>(), path, value_depth);
  else check_list(value.as<capnp::DynamicList>(), path, value_depth);
}

void check_union(capnp::DynamicStruct::Reader reader, const Path& path, bool adds_name, int value_depth) {
  KJ_IF_MAYBE(member, reader.which()) {
    if (reader.has(*member)) check_field(reader, *member, adds_name ? Path(path, name_of(*member)) : path, value_depth);
  } else {
    fail(ErrorCode::kInvalidValue, path, "needs one of " + one_of(names_of(reader.getSchema().getUnionFields())));
  }
}

void check_struct(capnp::DynamicStruct::Reader reader, const Path& path, int value_depth) {
  const capnp::StructSchema schema = reader.getSchema();
  const bool any = has_mark(schema, Mark::kAny);
  if (any && value_depth > kMaxValueDepth)
    fail(ErrorCode::kMalformed, path, "nests deeper than " + std::to_string(kMaxValueDepth) + " levels");
  const int inner_depth = value_depth + (any ? 1 : 0);
  const bool adds_name = !any && !has_mark(schema, Mark::kBare);
  for (auto field : schema.getNonUnionFields()) {
    const Path field_path(path, name_of(field));
    if (reader.has(field)) check_field(reader, field, adds_name ? field_path : path, inner_depth);
    else if (has_mark(field, Mark::kRequired)) fail(ErrorCode::kInvalidValue, adds_name ? field_path : path, "is required");
  }
  if (schema.getUnionFields().size() > 0) check_union(reader, path, adds_name, inner_depth);
}

}  // namespace

void check(capnp::DynamicStruct::Reader root) { check_struct(root, Path(), 0); }

}  // namespace kedge::schema
