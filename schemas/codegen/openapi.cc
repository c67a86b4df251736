// The JSON schemas of OpenAPI, for what clients send and get.
#include <algorithm>
#include <set>
#include <string_view>

#include "schemas/codegen/generators.h"

namespace kedge::codegen {
namespace {

constexpr std::size_t kLongestLine = 120;

using Members = std::vector<std::string>;   // "key": value

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string member(std::string_view key, std::string_view value) {
  return quoted(key) + ": " + std::string(value);
}

// On one line, or with a line for each member.
std::string object(const Members& members, int depth) {
  std::string line, lines;
  const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
  for (const std::string& entry : members) {
    line += (line.empty() ? "" : ", ") + entry;
    lines += (lines.empty() ? "\n  " : ",\n  ") + indent + entry;
  }
  return line.size() < kLongestLine && line.find('\n') == line.npos ? "{" + line + "}" : "{" + lines + "\n" + indent + "}";
}

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted(text);
  return "[" + out + "]";
}

std::string reference(const std::string& component) {
  return member("$ref", quoted("#/components/schemas/" + component));
}

class Components {
 public:
  explicit Components(const Contract& contract) : contract_(contract) {
    for (const Struct& entry : contract.structs)
      if (entry.is_request) add_request(entry);
  }

  std::string text() const {
    std::string out;
    const auto add = [&](const std::string& name, const Members& members) {
      out += (out.empty() ? "      " : ",\n      ") + member(name, object(members, kDepth));
    };
    for (const Enum& entry : contract_.enums)
      if (!entry.component.empty()) add(entry.component, {member("enum", list(entry.names))});
    for (const Struct& entry : contract_.structs)
      if (!entry.component.empty()) add(entry.component, members_of(entry, kDepth));
    return out + ",\n";
  }

 private:
  static constexpr int kDepth = 3;   // of a component in openapi.json

  void add_request(const Struct& entry) {
    if (!requests_.insert(entry.name).second) return;
    for (const auto* fields : {&entry.fields, &entry.members})
      for (const Field& field : *fields)
        if (field.type.kind == Type::Kind::kStruct) add_request(contract_.at(field.type.name));
  }

  bool is_request(const Struct& entry) const { return requests_.contains(entry.name); }

  // In answers everything is there that is not optional.
  bool is_required(const Struct& owner, const Field& field) const {
    return field.is_required || (!is_request(owner) && !field.is_optional && !field.type.is_boxed());
  }

  Members members_of(const Struct& entry, int depth) const {
    if (entry.is_bare) return members_of(entry, entry.fields.at(0), depth);
    Members members{member("type", "\"object\"")};
    if (!entry.doc.empty()) members.push_back(member("description", quoted(entry.doc)));
    std::vector<std::string> required;
    Members properties;
    for (const Field& field : entry.fields) {
      if (is_required(entry, field)) required.push_back(field.name);
      properties.push_back(member(field.name, object(members_of(entry, field, depth + 2), depth + 2)));
    }
    for (const Field& field : entry.members)
      properties.push_back(member(field.name, object(members_of(entry, field, depth + 2), depth + 2)));
    if (!required.empty()) members.push_back(member("required", list(required)));
    if (!entry.members.empty()) add_union(entry, members);
    if (is_request(entry)) members.push_back(member("additionalProperties", "false"));
    if (!properties.empty()) members.push_back(member("properties", object(properties, depth + 1)));
    return members;
  }

  // One of the members of a union, in addition to the other fields if there are any.
  static void add_union(const Struct& entry, Members& members) {
    if (entry.fields.empty()) {
      members.push_back(member("minProperties", "1"));
      members.push_back(member("maxProperties", "1"));
      return;
    }
    std::string choices;
    for (const Field& field : entry.members)
      choices += (choices.empty() ? "" : ", ") + object({member("required", list({field.name}))}, 0);
    members.push_back(member("oneOf", "[" + choices + "]"));
  }

  Members members_of(const Struct& owner, const Field& field, int depth) const {
    Members members = type_members(owner, field, depth);
    if (field.minimum) members.push_back(member("minimum", std::to_string(*field.minimum)));
    if (!field.pattern.empty()) members.push_back(member("pattern", quoted(field.pattern)));
    if (is_request(owner) && !field.default_value.empty()) members.push_back(member("default", field.default_value));
    if (!field.doc.empty()) {   // in place of what its type says of itself
      std::erase_if(members, [](const std::string& one) { return one.starts_with("\"description\""); });
      members.push_back(member("description", quoted(field.doc)));
    }
    return members;
  }

  Members type_members(const Struct& owner, const Field& field, int depth) const {
    if (!field.component.empty()) return {reference(field.component)};
    if (!field.choices.empty() && !field.type.is_list) return {member("enum", list(field.choices))};
    if (field.is_map) return map_members(owner, field, depth);
    if (!field.type.is_list) return item_members(owner, field, depth);
    return {member("type", "\"array\""), member("items", object(item_members(owner, field, depth + 1), depth + 1))};
  }

  Members map_members(const Struct& owner, const Field& field, int depth) const {
    const Field& value = contract_.at(field.type.name).fields.at(1);
    const Members members = type_members(owner, value, depth + 1);
    if (members.empty()) return {member("type", "\"object\"")};
    return {member("type", "\"object\""), member("additionalProperties", object(members, depth + 1))};
  }

  Members item_members(const Struct& owner, const Field& field, int depth) const {
    const Type& type = field.type;
    switch (type.kind) {
      case Type::Kind::kFlag:
        return {member("type", "\"boolean\"")};
      case Type::Kind::kInteger:
        return {member("type", "\"integer\"")};
      case Type::Kind::kNumber:
        return is_request(owner) ? Members{member("type", "\"number\"")} : Members{reference("Number")};
      case Type::Kind::kText:
      case Type::Kind::kData:
        return {member("type", "\"string\"")};
      case Type::Kind::kEnum: {
        const Enum& entry = contract_.enum_at(type.name);
        return {entry.component.empty() ? member("enum", list(entry.names)) : reference(entry.component)};
      }
      case Type::Kind::kStruct:
        return struct_members(owner, field, contract_.at(type.name), depth);
    }
    return {};
  }

  Members struct_members(const Struct& owner, const Field& field, const Struct& entry, int depth) const {
    if (entry.is_any && field.json_types.empty()) return {};
    if (entry.is_any)
      return {member("type", field.json_types.size() == 1 ? quoted(field.json_types[0]) : list(field.json_types))};
    if (entry.name.starts_with("Boxed")) return item_members(owner, entry.fields.at(0), depth);
    return entry.component.empty() ? members_of(entry, depth) : Members{reference(entry.component)};
  }

  const Contract& contract_;
  std::set<std::string> requests_;
};

}   // namespace

std::string components(const Contract& contract) {
  return Components(contract).text();
}

}   // namespace kedge::codegen
