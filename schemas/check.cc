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
    const Pointers pointers = capnp::AnyStruct::Reader(reader).getPointerSection();
    for (const FieldLayout& entry : layout.fields) {
      if (entry.is_member || (entry.is_number && !entry.is_required)) continue;
      const Path named(path, entry.name), &field_path = adds_name ? named : path;
      if (!check_member(reader, pointers, entry, field_path) && entry.is_required)
        fail(ErrorCode::kInvalidValue, field_path, "is required");
    }
    if (layout.has_union) check_union(reader, layout, path, adds_name);
  }

 private:
  using Pointers = capnp::List<capnp::AnyPointer>::Reader;

  // False where the field is not there. Most are pointers, of which the layout knows what reader.has() and get() would look up in the schema.
  bool check_member(capnp::DynamicStruct::Reader reader, Pointers pointers, const FieldLayout& entry, const Path& path) {
    if (entry.pointer == FieldLayout::kNone) {
      if (!reader.has(entry.field)) return false;
      check_field(reader, entry, path);
      return true;
    }
    const auto at = static_cast<unsigned>(entry.pointer);
    if (at >= pointers.size() || pointers[at].isNull()) return false;
    if (entry.is_number) return true;
    if (entry.is_text)
      checked_text(pointers[at].getAs<capnp::Text>(), path);
    else if (entry.type.isStruct())
      check_struct(pointers[at].getAs<capnp::DynamicStruct>(entry.type.asStruct()), *entry.content, path);
    else
      check_items(pointers[at].getAs<capnp::DynamicList>(entry.type.asList()), entry, path);
    return true;
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
    if (value.getType() == capnp::DynamicValue::LIST)
      check_items(value.as<capnp::DynamicList>(), entry, path);
    else
      check_item(value, entry.content, path);
  }

  void check_items(capnp::DynamicList::Reader list, const FieldLayout& entry, const Path& path) {
    if (entry.is_map)
      check_map(list, *entry.content, path);
    else
      check_list(list, entry.content, path);
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
          check_member(reader, capnp::AnyStruct::Reader(reader).getPointerSection(), content, entry_path);
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
