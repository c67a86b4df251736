// store() and load() for every struct of the schema, a line for each field.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "schemas/codegen/generators.h"

namespace kedge::codegen {
namespace {

// As Cap'n Proto's C++ has it: getNSamples for nSamples.
std::string capitalised(std::string name) {
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

// FIT_SCORE for fitScore.
std::string upper_snake(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c))) text += '_';
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

// A list or a struct, text or bytes: what can be absent.
bool is_pointer(const Type& type) {
  return type.is_list || type.kind == Type::Kind::kText || type.kind == Type::Kind::kData || type.kind == Type::Kind::kStruct;
}

std::string value_type(const Contract& contract, const Type& type, bool is_map = false) {
  if (is_map && type.is_struct("NamedValue")) return "ValueMap";
  if (type.kind == Type::Kind::kText) return "std::string";
  if (type.kind != Type::Kind::kStruct || type.is_list) throw std::runtime_error("no value type for " + type.name);
  return contract.at(type.name).name;
}

// Entries of a map are pairs, {name, value} on the wire.
std::string value_type(const Contract& contract, const Struct& entry) {
  if (!entry.is_map_entry) return entry.name;
  return fmt::format("std::pair<std::string, {}>", value_type(contract, entry.fields.at(1).type, entry.fields.at(1).is_map));
}

std::string member(const Struct& owner, const Field& field) {
  if (!owner.is_map_entry) return "value." + field.member;
  return field.name == "name" ? "value.first" : "value.second";
}

// The statement that puts a field that is there into the message.
std::string store_statement(const Field& field, const std::string& from) {
  const std::string name = capitalised(field.name);
  const std::string content = field.is_optional ? fmt::format("content({})", from) : from;
  if (field.type.is_list) return fmt::format("store_list({0}, builder.init{1}({0}.size()));", from, name);
  if (field.type.is_boxed()) return fmt::format("builder.init{}().setValue(*{});", name, from);
  switch (field.type.kind) {
    case Type::Kind::kEnum:
      return fmt::format("builder.set{}(static_cast<wire::{}>({}));", name, field.type.name, from);
    case Type::Kind::kText:
      return fmt::format("builder.set{}(Utf8({}));", name, content);
    case Type::Kind::kData:
      if (!field.is_lent) return fmt::format("builder.set{}(data_of({}));", name, from);
      return fmt::format("is_in_words({0}) ? builder.adopt{1}(lent({0}, builder)) : builder.set{1}(data_of({0}));", from, name);
    case Type::Kind::kStruct:
      return fmt::format("store({}, builder.init{}());", content, name);
    default:
      return fmt::format("builder.set{}({});", name, from);
  }
}

std::string store_line(const Struct& owner, const Field& field) {
  const std::string from = member(owner, field);
  const std::string statement = store_statement(field, from);
  if (field.type.is_boxed()) return fmt::format("  if ({}) {}\n", from, statement);
  if (!field.is_optional || !is_pointer(field.type)) return fmt::format("  {}\n", statement);
  const std::string required = field.required_if.empty() ? "" : fmt::format("{}(value) || ", field.required_if);
  return fmt::format("  if ({}is_given({}, usual.{})) {}\n", required, from, field.member, statement);
}

std::string load_line(const Struct& owner, const Field& field) {
  const std::string to = member(owner, field);
  const std::string name = capitalised(field.name);
  const std::string get = fmt::format("reader.get{}()", name);
  const std::string if_there = field.is_optional ? fmt::format("if (reader.has{}()) ", name) : "";
  if (field.type.is_list) return fmt::format("  load_list({}, {});\n", to, get);
  if (field.type.is_boxed()) return fmt::format("  if (reader.has{}()) {} = {}.getValue();\n", name, to, get);
  switch (field.type.kind) {
    case Type::Kind::kEnum:
      return fmt::format("  {0} = static_cast<decltype({0})>({1});\n", to, get);
    case Type::Kind::kText:
      return fmt::format("  {}{} = text({});\n", if_there, to, get);
    case Type::Kind::kData:
      return fmt::format("  {} = bytes({});\n", to, get);
    case Type::Kind::kStruct:
      if (!field.is_optional) return fmt::format("  load({}, {});\n", to, get);
      if (field.type.is_value()) return fmt::format("  {}load_unless_null({}, {});\n", if_there, to, get);
      return fmt::format("  {}load(place({}), {});\n", if_there, to, get);
    default:
      return fmt::format("  {} = {};\n", to, get);
  }
}

bool asks_for_defaults(const Struct& entry) {
  return std::any_of(entry.fields.begin(), entry.fields.end(), [](const Field& field) {
    return field.is_optional && is_pointer(field.type) && !field.type.is_boxed() && !field.is_wire_only;
  });
}

// The union, whose value is a variant with the same order of alternatives.
std::string union_type(const Struct& entry) {
  return entry.variant.empty() ? entry.name : fmt::format("decltype({}::{})", entry.name, entry.variant);
}

std::string union_functions(const Struct& entry) {
  const std::string type = union_type(entry);
  std::string store =
      fmt::format("void store(const {}& value, wire::{}::Builder builder) {{\n  switch (value.index()) {{\n", type, entry.name);
  std::string load =
      fmt::format("void load({}& value, wire::{}::Reader reader) {{\n  switch (reader.which()) {{\n", type, entry.name);
  for (std::size_t i = 0; i < entry.members.size(); ++i) {
    const std::string name = capitalised(entry.members[i].name);
    store += fmt::format("    case {0}: return store(std::get<{0}>(value), builder.init{1}());\n", i, name);
    load += fmt::format("    case wire::{}::{}: return load(value.emplace<{}>(), reader.get{}());\n", entry.name,
                        upper_snake(entry.members[i].name), i, name);
  }
  return fmt::format("static_assert(std::variant_size_v<{}> == {});\n{}  }}\n}}\n\n{}  }}\n}}\n\n", type, entry.members.size(),
                     store, load);
}

std::string struct_functions(const Contract& contract, const Struct& entry) {
  const std::string type = value_type(contract, entry);
  const bool is_empty = entry.fields.empty() && entry.members.empty();
  std::string store = fmt::format("void store(const {}&{}, wire::{}::Builder{}) {{\n", type, is_empty ? "" : " value", entry.name,
                                  is_empty ? "" : " builder");
  std::string load = fmt::format("void load({}&{}, wire::{}::Reader{}) {{\n", type, is_empty ? "" : " value", entry.name,
                                 is_empty ? "" : " reader");
  if (asks_for_defaults(entry)) store += fmt::format("  static const {} usual{{}};\n", type);
  for (const Field& field : entry.fields)
    if (!field.is_wire_only) store += store_line(entry, field), load += load_line(entry, field);
  if (!entry.members.empty()) {
    store += fmt::format("  store(value.{}, builder);\n", entry.variant);
    load += fmt::format("  load(value.{}, reader);\n", entry.variant);
  }
  for (const Field& field : entry.fields)
    if (!field.required_if.empty())
      load += fmt::format("  if ({}(value) && !reader.has{}()) fail_required(\"{}\");\n", field.required_if,
                          capitalised(field.name), field.name);
  return store + "}\n\n" + load + "}\n\n";
}

bool has_own_functions(const Struct& entry) {
  return !entry.is_any && !entry.name.starts_with("Boxed");   // a Value's are in wire_value.cc
}

bool has_struct_functions(const Struct& entry) {
  return has_own_functions(entry) && (entry.members.empty() || !entry.variant.empty());
}

}   // namespace

std::string wire_header(const Contract& contract) {
  std::string text = fmt::format(
      "// store() and load() of the structs of the schema; wire.h includes it. {}\n#pragma once\n\nnamespace kedge::schema "
      "{{\n\n",
      kNotice);
  const auto declare = [&](const std::string& type, const std::string& wire) {
    text += fmt::format("void store(const {0}&, wire::{1}::Builder);\nvoid load({0}&, wire::{1}::Reader);\n", type, wire);
  };
  for (const Struct& entry : contract.structs) {
    if (has_own_functions(entry) && !entry.members.empty()) declare(union_type(entry), entry.name);
    if (has_struct_functions(entry)) declare(value_type(contract, entry), entry.name);
  }
  text += "\ntemplate <class T>\nstruct WireOf;\n";
  for (const Struct& entry : contract.structs)
    if (entry.is_document || entry.is_message)
      text += fmt::format("template <>\nstruct WireOf<{0}> {{\n  using Type = wire::{0};\n}};\n", entry.name);
  return text + "\n}  // namespace kedge::schema\n";
}

std::string wire_source(const Contract& contract) {
  std::string text = fmt::format(
      "// The value types to and from Cap'n Proto. {}\n#include \"schemas/wire.h\"\n\nnamespace kedge::schema {{\n\n", kNotice);
  for (const Struct& entry : contract.structs) {
    if (has_own_functions(entry) && !entry.members.empty()) text += union_functions(entry);
    if (has_struct_functions(entry)) text += struct_functions(contract, entry);
  }
  return text + "}  // namespace kedge::schema\n";
}

std::string documents(const Contract& contract) {
  std::string text = fmt::format("// What the codec is instantiated for. {}\n", kNotice);
  for (const Struct& entry : contract.structs) {
    if (entry.is_document)
      text += fmt::format("template std::string to_json(const {0}&);\ntemplate {0} from_json(std::string_view);\n", entry.name);
    if (entry.is_document || entry.is_message)
      text += fmt::format(
          "template std::vector<std::byte> to_binary(const {0}&);\ntemplate {0} from_binary(std::span<const std::byte>);\n",
          entry.name);
  }
  return text;
}

}   // namespace kedge::codegen
