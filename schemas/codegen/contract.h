// The schema as the generators see it: what the Cap'n Proto compiler hands to a plugin, by name and without the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::codegen {

struct Type {
  enum class Kind { kFlag, kInteger, kNumber, kEnum, kText, kData, kStruct };
  Kind kind = Kind::kFlag;   // of a list: of its items
  bool is_list = false;
  std::string name;   // of an enum or a struct, as in C++: "ParamForm::Type"

  bool is_struct(std::string_view struct_name) const { return kind == Kind::kStruct && name == struct_name; }
  // A scalar that can be absent.
  bool is_boxed() const { return !is_list && kind == Kind::kStruct && name.starts_with("Boxed"); }
  bool is_value() const { return !is_list && is_struct("Value"); }
};

struct Field {
  std::string name;     // in the schema and in JSON
  std::string member;   // of the value type: the same, but for words of C++
  std::string doc;
  unsigned number = 0;   // its place among the fields by their numbers
  Type type;
  std::string default_value;   // as JSON; empty: none that the schema names
  std::string required_if;     // a function of the struct
  bool is_optional = false, is_required = false, is_map = false, is_lent = false, is_wire_only = false;
  // What OpenAPI says beyond the type.
  std::optional<std::int64_t> minimum;
  std::vector<std::string> choices;
  std::string pattern;
  std::vector<std::string> json_types;   // of a Value
  std::string component;                 // that says what a Value is
};

struct Enum {
  std::string name;
  std::string component;            // its name in OpenAPI; empty: written where it is used
  std::vector<std::string> names;   // in JSON
};

struct Struct {
  std::string name;
  std::string doc;
  std::string component;        // its name in OpenAPI; empty: written where it is used
  std::vector<Field> fields;    // those outside the union, in the order in which the file has them
  std::vector<Field> members;   // of the union, in the order of the discriminants
  std::string variant;          // the member of the value type that holds the union; empty: the value type is the variant
  bool is_any = false, is_bare = false, is_map_entry = false, is_request = false, is_document = false, is_message = false;
};

struct Contract {
  std::vector<Struct> structs;   // by file, in the order in which the file has them
  std::vector<Enum> enums;

  const Struct& at(const std::string& name) const;
  const Enum& enum_at(const std::string& name) const;
};

// Reads a CodeGeneratorRequest from standard input.
Contract read_contract();

}   // namespace kedge::codegen
