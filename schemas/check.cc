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

  void check_struct(capnp::DynamicStruct::Reader reader, const Path& path) {
    const capnp::StructSchema schema = reader.getSchema();
    if (has_mark(schema, Mark::kAny)) return check_value(reader.as<wire::Value>(), path, 0);
    const bool adds_name = !has_mark(schema, Mark::kBare);  // to the path, as in JSON
    for (auto field : schema.getNonUnionFields()) {
      const Path field_path(path, name_of(field));
      if (reader.has(field))
        check_field(reader, field, adds_name ? field_path : path);
      else if (has_mark(field, Mark::kRequired))
        fail(ErrorCode::kInvalidValue, adds_name ? field_path : path, "is required");
    }
    if (schema.getUnionFields().size() > 0) check_union(reader, path, adds_name);
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

  void check_union(capnp::DynamicStruct::Reader reader, const Path& path, bool adds_name) {
    KJ_IF_MAYBE (member, reader.which()) {
      if (reader.has(*member))
        check_field(reader, *member, adds_name ? Path(path, name_of(*member)) : path);
    } else {
      fail_unknown_member(reader.getSchema(), path);
    }
  }

  void check_field(capnp::DynamicStruct::Reader reader, capnp::StructSchema::Field field, const Path& path) {
    const capnp::DynamicValue::Reader value = reader.get(field);
    if (value.getType() != capnp::DynamicValue::LIST)
      check_item(value, path);
    else if (has_mark(field, Mark::kMap))
      check_map(value.as<capnp::DynamicList>(), path);
    else
      check_list(value.as<capnp::DynamicList>(), path);
  }

  void check_item(capnp::DynamicValue::Reader value, const Path& path) {
    switch (value.getType()) {
      case capnp::DynamicValue::TEXT:
        checked_text(value.as<capnp::Text>(), path);
        break;
      case capnp::DynamicValue::STRUCT:
        check_struct(value.as<capnp::DynamicStruct>(), path);
        break;
      case capnp::DynamicValue::ENUM:
        check_enum(value.as<capnp::DynamicEnum>(), path);
        break;
      default:
        break;
    }
  }

  void check_list(capnp::DynamicList::Reader list, const Path& path) {
    const capnp::Type type = list.getSchema().getElementType();
    if (type.isFloat64()) return;
    spend(list.size(), path);
    for (unsigned i = 0; i < list.size(); ++i) check_item(list[i], Path(path, i));
  }

  void check_map(capnp::DynamicList::Reader list, const Path& path) {
    const capnp::StructSchema entry = list.getSchema().getStructElementType();
    const auto name_field = entry.getFieldByName("name"), value_field = entry.getFieldByName("value");
    check_entries(
        list.size(), path, [&](unsigned i) { return list[i].as<capnp::DynamicStruct>().get(name_field).as<capnp::Text>(); },
        [&](unsigned i, const Path& entry_path) {
          const auto reader = list[i].as<capnp::DynamicStruct>();
          if (reader.has(value_field)) check_field(reader, value_field, entry_path);
        });
  }

  // By its type, not by the schema: a result may have many, as the nodes of a tree.
  void check_value(wire::Value::Reader value, const Path& path, int depth) {
    if (depth > kMaxValueDepth)
      fail(ErrorCode::kMalformed, path, "nests deeper than " + std::to_string(kMaxValueDepth) + " levels");
    switch (value.which()) {
      case wire::Value::NOTHING:
      case wire::Value::BOOLEAN:
      case wire::Value::INTEGER:
      case wire::Value::NUMBER:
      case wire::Value::NUMBERS:
        return;
      case wire::Value::TEXT:
        checked_text(value.getText(), path);
        return;
      case wire::Value::LIST: {
        const auto list = value.getList();
        spend(list.size(), path);
        for (unsigned i = 0; i < list.size(); ++i) check_value(list[i], Path(path, i), depth + 1);
        return;
      }
      case wire::Value::OBJECT: {
        const auto list = value.getObject();
        check_entries(
            list.size(), path, [&](unsigned i) { return list[i].getName(); },
            [&](unsigned i, const Path& entry_path) { check_value(list[i].getValue(), entry_path, depth + 1); });
        return;
      }
    }
    fail_unknown_member(capnp::Schema::from<wire::Value>(), path);
  }

  // name(i), check(i, path of the entry).
  template <class Name, class Check>
  void check_entries(unsigned n, const Path& path, const Name& name, const Check& check) {
    spend(n, path);
    std::set<std::string_view> names;
    for (unsigned i = 0; i < n; ++i) {
      const std::string_view checked = checked_text(name(i), Path(path, i));
      const Path entry_path(path, checked);
      if (!names.insert(checked).second) fail(ErrorCode::kInvalidValue, entry_path, "comes twice");
      check(i, entry_path);
    }
  }

  [[noreturn]] static void fail_unknown_member(capnp::StructSchema schema, const Path& path) {
    fail(ErrorCode::kInvalidValue, path, "needs one of " + one_of(names_of(schema.getUnionFields())));
  }

  std::size_t items_left_;
};

}  // namespace

void check(capnp::DynamicStruct::Reader root, std::size_t max_items) {
  Checker(max_items).check_struct(root, Path());
}

}  // namespace kedge::schema
