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

  void check_struct(capnp::DynamicStruct::Reader reader, const StructLayout& layout, const Path& path) {
    if (layout.is_any) return check_value(reader.as<wire::Value>(), path, 0);
    const bool adds_name = !layout.is_bare;  // to the path, as in JSON
    const auto pointers = capnp::AnyStruct::Reader(reader).getPointerSection();
    for (const FieldLayout& entry : layout.fields) {
      if (entry.is_member || (entry.is_number && !entry.is_required)) continue;
      const Path named(path, entry.name), &field_path = adds_name ? named : path;
      if (!has(reader, pointers, entry)) {
        if (entry.is_required) fail(ErrorCode::kInvalidValue, field_path, "is required");
      } else if (entry.is_text && entry.pointer != FieldLayout::kNone) {
        checked_text(pointers[static_cast<unsigned>(entry.pointer)].getAs<capnp::Text>(), field_path);
      } else {
        check_field(reader, entry, field_path);
      }
    }
    if (layout.has_union) check_union(reader, layout, path, adds_name);
  }

 private:
  // As reader.has(), which looks the field up in the schema first: most of them are texts, and many are not there.
  static bool has(capnp::DynamicStruct::Reader reader, capnp::List<capnp::AnyPointer>::Reader pointers, const FieldLayout& entry) {
    if (entry.pointer == FieldLayout::kNone) return reader.has(entry.field);
    const auto at = static_cast<unsigned>(entry.pointer);
    return at < pointers.size() && !pointers[at].isNull();
  }

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

  void check_union(capnp::DynamicStruct::Reader reader, const StructLayout& layout, const Path& path, bool adds_name) {
    KJ_IF_MAYBE (member, reader.which()) {
      const FieldLayout& entry = layout.fields[member->getIndex()];
      if (reader.has(entry.field)) check_field(reader, entry, adds_name ? Path(path, entry.name) : path);
    } else {
      fail_unknown_member(reader.getSchema(), path);
    }
  }

  void check_field(capnp::DynamicStruct::Reader reader, const FieldLayout& entry, const Path& path) {
    if (entry.is_number) return;
    const capnp::DynamicValue::Reader value = reader.get(entry.field);
    if (value.getType() != capnp::DynamicValue::LIST)
      check_item(value, entry.content, path);
    else if (entry.is_map)
      check_map(value.as<capnp::DynamicList>(), *entry.content, path);
    else
      check_list(value.as<capnp::DynamicList>(), entry.content, path);
  }

  // `content`: of a struct.
  void check_item(capnp::DynamicValue::Reader value, const StructLayout* content, const Path& path) {
    switch (value.getType()) {
      case capnp::DynamicValue::TEXT:
        checked_text(value.as<capnp::Text>(), path);
        break;
      case capnp::DynamicValue::STRUCT:
        check_struct(value.as<capnp::DynamicStruct>(), *content, path);
        break;
      case capnp::DynamicValue::ENUM:
        check_enum(value.as<capnp::DynamicEnum>(), path);
        break;
      default:
        break;
    }
  }

  void check_list(capnp::DynamicList::Reader list, const StructLayout* content, const Path& path) {
    spend(list.size(), path);
    for (unsigned i = 0; i < list.size(); ++i) check_item(list[i], content, Path(path, i));
  }

  void check_map(capnp::DynamicList::Reader list, const StructLayout& entry, const Path& path) {
    const FieldLayout &name = entry.fields[kMapName], &content = entry.fields[kMapValue];
    check_entries(
        list.size(), path, [&](unsigned i) { return list[i].as<capnp::DynamicStruct>().get(name.field).as<capnp::Text>(); },
        [&](unsigned i, const Path& entry_path) {
          const auto reader = list[i].as<capnp::DynamicStruct>();
          if (reader.has(content.field)) check_field(reader, content, entry_path);
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
  Checker(max_items).check_struct(root, layout_of(root.getSchema()), Path());
}

}  // namespace kedge::schema
