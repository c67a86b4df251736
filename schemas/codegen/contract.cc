// Reads the request of the Cap'n Proto compiler.
#include "schemas/codegen/contract.h"

#include <capnp/schema.capnp.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace kedge::codegen {
namespace {

using Node = capnp::schema::Node::Reader;
using Annotations = capnp::List<capnp::schema::Annotation>::Reader;

class Reader {
 public:
  explicit Reader(capnp::schema::CodeGeneratorRequest::Reader request) : request_(request) {
    for (Node node : request.getNodes()) nodes_.emplace(node.getId(), node);
    for (auto info : request.getSourceInfo()) sources_.emplace(info.getId(), info);
  }

  Contract contract() {
    for (auto file : request_.getRequestedFiles()) add_types_in(nodes_.at(file.getId()));
    for (Struct& entry : contract_.structs) entry.is_map_entry = map_entries_.contains(entry.name);
    return std::move(contract_);
  }

 private:
  void add_types_in(Node scope) {
    for (auto nested : scope.getNestedNodes()) {
      const Node node = nodes_.at(nested.getId());
      if (node.isStruct()) contract_.structs.push_back(struct_of(node)), add_types_in(node);
      if (node.isEnum()) contract_.enums.push_back(enum_of(node));
    }
  }

  // "schemas/catalogue.capnp:ParamForm.Type" is ParamForm::Type.
  std::string name_of(std::uint64_t id) const {
    const std::string display = nodes_.at(id).getDisplayName();
    std::string name = display.substr(display.find(':') + 1);
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) name.replace(dot, 1, "::");
    return name;
  }

  bool has(Annotations annotations, std::string_view name) const {
    for (auto annotation : annotations)
      if (name_of(annotation.getId()) == name) return true;
    return false;
  }

  std::string text(Annotations annotations, std::string_view name) const {
    for (auto annotation : annotations)
      if (name_of(annotation.getId()) == name) return annotation.getValue().getText();
    return {};
  }

  std::vector<std::string> texts(Annotations annotations, std::string_view name) const {
    std::vector<std::string> all;
    for (auto annotation : annotations)
      if (name_of(annotation.getId()) == name)
        for (auto text : annotation.getValue().getList().getAs<capnp::List<capnp::Text>>()) all.emplace_back(text);
    return all;
  }

  std::optional<std::int64_t> integer(Annotations annotations, std::string_view name) const {
    for (auto annotation : annotations)
      if (name_of(annotation.getId()) == name) return annotation.getValue().getInt64();
    return {};
  }

  // The comment behind a declaration, on one line.
  static std::string one_line(std::string comment) {
    while (!comment.empty() && comment.back() == '\n') comment.pop_back();
    std::replace(comment.begin(), comment.end(), '\n', ' ');
    return comment;
  }

  static std::string default_of(capnp::schema::Value::Reader value) {
    if (value.isBool()) return value.getBool() ? "true" : "false";
    if (value.isInt64()) return std::to_string(value.getInt64());
    if (value.isText()) return '"' + std::string(value.getText()) + '"';
    return {};
  }

  Type type_of(capnp::schema::Type::Reader type) const {
    if (type.isList()) {
      Type list = type_of(type.getList().getElementType());
      if (list.is_list) throw std::runtime_error("a list of lists has no place in the value types");
      list.is_list = true;
      return list;
    }
    if (type.isBool()) return {Type::Kind::kFlag};
    if (type.isFloat64()) return {Type::Kind::kNumber};
    if (type.isInt64() || type.isUint8()) return {Type::Kind::kInteger};
    if (type.isText()) return {Type::Kind::kText};
    if (type.isData()) return {Type::Kind::kData};
    if (type.isEnum()) return {Type::Kind::kEnum, false, name_of(type.getEnum().getTypeId())};
    if (type.isStruct()) return {Type::Kind::kStruct, false, name_of(type.getStruct().getTypeId())};
    throw std::runtime_error("a type that the generator does not know");
  }

  Field field_of(Node owner, unsigned index) {
    const auto field = owner.getStruct().getFields()[index];
    const auto slot = field.getSlot();
    const Annotations marks = field.getAnnotations();
    const std::string member = text(marks, "member");
    Field entry{
        .name = field.getName(),
        .member = member.empty() ? std::string(field.getName()) : member,
        .doc = one_line(sources_.at(owner.getId()).getMembers()[index].getDocComment()),
        .number = index,
        .type = slot.getType().isVoid() ? Type{} : type_of(slot.getType()),
        .default_value = slot.getHadExplicitDefault() ? default_of(slot.getDefaultValue()) : text(marks, "default"),
        .required_if = text(marks, "requiredIf"),
        .is_optional = has(marks, "optional"),
        .is_required = has(marks, "required"),
        .is_map = has(marks, "map"),
        .is_lent = has(marks, "lent"),
        .is_wire_only = has(marks, "wireOnly"),
        .minimum = integer(marks, "minimum"),
        .choices = texts(marks, "choices"),
        .pattern = text(marks, "pattern"),
        .json_types = texts(marks, "jsonTypes"),
        .component = text(marks, "component")};
    if (entry.is_map) map_entries_.insert(entry.type.name);
    return entry;
  }

  Struct struct_of(Node node) {
    const Annotations marks = node.getAnnotations();
    Struct entry{.name = name_of(node.getId()),
                 .doc = one_line(sources_.at(node.getId()).getDocComment()),
                 .component = text(marks, "schema"),
                 .variant = text(marks, "variant"),
                 .is_any = has(marks, "any"),
                 .is_bare = has(marks, "bare"),
                 .is_request = has(marks, "request"),
                 .is_document = has(marks, "document"),
                 .is_message = has(marks, "message")};
    const auto all = node.getStruct().getFields();   // by number, and so, those of the union, by discriminant
    std::map<unsigned, unsigned> lines;
    for (unsigned i = 0; i < all.size(); ++i) {
      const bool is_member = all[i].getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT;
      if (is_member) entry.members.push_back(field_of(node, i));
      else lines.emplace(all[i].getCodeOrder(), i);
    }
    for (const auto& [line, i] : lines) entry.fields.push_back(field_of(node, i));
    return entry;
  }

  Enum enum_of(Node node) const {
    Enum entry{.name = name_of(node.getId()), .component = text(node.getAnnotations(), "schema")};
    for (auto enumerant : node.getEnum().getEnumerants()) {
      const std::string name = text(enumerant.getAnnotations(), "name");
      entry.names.push_back(name.empty() ? enumerant.getName() : kj::StringPtr(name.c_str()));
    }
    return entry;
  }

  capnp::schema::CodeGeneratorRequest::Reader request_;
  std::map<std::uint64_t, Node> nodes_;
  std::map<std::uint64_t, capnp::schema::Node::SourceInfo::Reader> sources_;
  std::set<std::string> map_entries_;
  Contract contract_;
};

template <class Entry>
const Entry& named(const std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  if (found == entries.end()) throw std::runtime_error("the schema has no " + name);
  return *found;
}

}   // namespace

const Struct& Contract::at(const std::string& name) const {
  return named(structs, name);
}

const Enum& Contract::enum_at(const std::string& name) const {
  return named(enums, name);
}

Contract read_contract() {
  capnp::StreamFdMessageReader message(0, {.traversalLimitInWords = std::uint64_t{1} << 24});
  return Reader(message.getRoot<capnp::schema::CodeGeneratorRequest>()).contract();
}

}   // namespace kedge::codegen
