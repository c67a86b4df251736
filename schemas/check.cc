// Walks a received struct by its schema. Lists of numbers need no look: every bit pattern is a number.
#include "schemas/check.h"

#include <set>

#include "schemas/layout.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

class Checker {
 public:
  explicit Checker(std::size_t max_items) : items_left_(max_items) {}

  void check_struct(capnp::DynamicStruct::Reader reader, const Path& path, int value_depth) {
    const capnp::StructSchema schema = reader.getSchema();
    const bool any = has_mark(schema, Mark::kAny);
    if (any && value_depth > kMaxValueDepth)
      fail(ErrorCode::kMalformed, path, "nests deeper than " + std::to_string(kMaxValueDepth) + " levels");
    const int inner_depth = value_depth + (any ? 1 : 0);
    const bool adds_name = !any && !has_mark(schema, Mark::kBare);  // to the path, as in JSON
    for (auto field : schema.getNonUnionFields()) {
      const Path field_path(path, name_of(field));
      if (reader.has(field))
        check_field(reader, field, adds_name ? field_path : path, inner_depth);
      else if (has_mark(field, Mark::kRequired))
        fail(ErrorCode::kInvalidValue, adds_name ? field_path : path, "is required");
    }
    if (schema.getUnionFields().size() > 0) check_union(reader, path, adds_name, inner_depth);
  }

 private:
  static std::string_view checked_text(capnp::Text::Reader text, const Path& path) {
    const std::string_view view(text.begin(), text.size());
    if (!is_utf8(view)) fail(ErrorCode::kMalformed, path, "is not valid UTF-8");
    return view;
  }

  static void check_enum(capnp::DynamicEnum value, const Path& path) {
    if (value.getEnumerant() == nullptr)
      fail(ErrorCode::kInvalidValue, path, "unknown value number " + std::to_string(value.getRaw()));
  }

  void spend(unsigned items, const Path& path) {
    if (items > items_left_)
      fail(ErrorCode::kBodyTooLarge, path, "too many items in the lists of one message");
    items_left_ -= items;
  }

  void check_union(capnp::DynamicStruct::Reader reader, const Path& path, bool adds_name, int value_depth) {
    KJ_IF_MAYBE (member, reader.which()) {
      if (reader.has(*member))
        check_field(reader, *member, adds_name ? Path(path, name_of(*member)) : path, value_depth);
    } else {
      fail(ErrorCode::kInvalidValue, path,
           "needs one of " + one_of(names_of(reader.getSchema().getUnionFields())));
    }
  }

  void check_field(capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field, const Path& path,
                   int value_depth) {
    const capnp::DynamicValue::Reader value = reader.get(field);
    if (value.getType() != capnp::DynamicValue::LIST)
      check_item(value, path, value_depth);
    else if (has_mark(field, Mark::kMap))
      check_map(value.as<capnp::DynamicList>(), path, value_depth);
    else
      check_list(value.as<capnp::DynamicList>(), path, value_depth);
  }

  void check_item(capnp::DynamicValue::Reader value, const Path& path, int value_depth) {
    switch (value.getType()) {
      case capnp::DynamicValue::TEXT:
        checked_text(value.as<capnp::Text>(), path);
        break;
      case capnp::DynamicValue::STRUCT:
        check_struct(value.as<capnp::DynamicStruct>(), path, value_depth);
        break;
      case capnp::DynamicValue::ENUM:
        check_enum(value.as<capnp::DynamicEnum>(), path);
        break;
      default:
        break;
    }
  }

  void check_list(capnp::DynamicList::Reader list, const Path& path, int value_depth) {
    const capnp::Type type = list.getSchema().getElementType();
    if (type.isFloat64()) return;
    spend(list.size(), path);
    for (unsigned i = 0; i < list.size(); ++i) check_item(list[i], Path(path, i), value_depth);
  }

  void check_map(capnp::DynamicList::Reader list, const Path& path, int value_depth) {
    const auto value_field = list.getSchema().getStructElementType().getFieldByName("value");
    spend(list.size(), path);
    std::set<std::string_view> names;
    for (unsigned i = 0; i < list.size(); ++i) {
      const auto entry = list[i].as<capnp::DynamicStruct>();
      const std::string_view name = checked_text(entry.get("name").as<capnp::Text>(), Path(path, i));
      const Path entry_path(path, name);
      if (!names.insert(name).second) fail(ErrorCode::kInvalidValue, entry_path, "comes twice");
      if (entry.has(value_field)) check_field(entry, value_field, entry_path, value_depth);
    }
  }

  std::size_t items_left_;
};

}  // namespace

void check(capnp::DynamicStruct::Reader root, std::size_t max_items) {
  Checker(max_items).check_struct(root, Path(), 0);
}

}  // namespace kedge::schema
