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
  }

  Contract contract() {
    for (auto file : request_.getRequestedFiles()) add_structs_in(nodes_.at(file.getId()));
    for (Struct& entry : contract_.structs) entry.is_map_entry = map_entries_.contains(entry.name);
    return std::move(contract_);
  }

 private:
  void add_structs_in(Node scope) {
    for (auto nested : scope.getNestedNodes()) {
      const Node node = nodes_.at(nested.getId());
      if (node.isStruct()) contract_.structs.push_back(struct_of(node)), add_structs_in(node);
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

  Field field_of(capnp::schema::Field::Reader field) {
    const Annotations marks = field.getAnnotations();
    const bool is_void = field.getSlot().getType().isVoid();
    Field entry{.name = field.getName(),
                .type = is_void ? Type{} : type_of(field.getSlot().getType()),
                .required_if = text(marks, "requiredIf"),
                .is_optional = has(marks, "optional"),
                .is_map = has(marks, "map"),
                .is_lent = has(marks, "lent"),
                .is_wire_only = has(marks, "wireOnly")};
    if (entry.is_map) map_entries_.insert(entry.type.name);
    return entry;
  }

  Struct struct_of(Node node) {
    const Annotations marks = node.getAnnotations();
    Struct entry{.name = name_of(node.getId()),
                 .variant = text(marks, "variant"),
                 .is_any = has(marks, "any"),
                 .is_document = has(marks, "document"),
                 .is_message = has(marks, "message")};
    const auto all = node.getStruct().getFields();
    std::vector<capnp::schema::Field::Reader> fields;
    for (auto field : all) fields.push_back(field);
    std::sort(fields.begin(), fields.end(), [](auto a, auto b) { return a.getCodeOrder() < b.getCodeOrder(); });
    for (auto field : fields)
      if (field.getDiscriminantValue() == capnp::schema::Field::NO_DISCRIMINANT) entry.fields.push_back(field_of(field));
    for (auto field : all)   // by number, and so by discriminant
      if (field.getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT) entry.members.push_back(field_of(field));
    return entry;
  }

  capnp::schema::CodeGeneratorRequest::Reader request_;
  std::map<std::uint64_t, Node> nodes_;
  std::set<std::string> map_entries_;
  Contract contract_;
};

}   // namespace

const Struct& Contract::at(const std::string& name) const {
  const auto found = std::find_if(structs.begin(), structs.end(), [&](const Struct& entry) { return entry.name == name; });
  if (found == structs.end()) throw std::runtime_error("no struct " + name + " in the schema");
  return *found;
}

Contract read_contract() {
  capnp::StreamFdMessageReader message(0, {.traversalLimitInWords = std::uint64_t{1} << 24});
  return Reader(message.getRoot<capnp::schema::CodeGeneratorRequest>()).contract();
}

}   // namespace kedge::codegen
