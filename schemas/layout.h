// What the annotations say about a struct or field of the schema, and the path to a field for error messages.
// Internal to the codec.
#pragma once

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge::schema {

// Ids in annotations.capnp.
enum class Mark : std::uint64_t {
  kAny = 0xa012dd5ba7e73531,
  kBare = 0x8a0ceb476ad9369a,
  kMap = 0xa4cefa7f6c180760,
  kOptional = 0xa61c6d69291a5b1d,
  kRequired = 0xdcc59c85f332095e,
};

struct StructLayout;

// What the walks through a message ask of a field, and of a struct, each time.
struct FieldLayout {
  static constexpr int kNone = -1;

  capnp::StructSchema::Field field;
  capnp::Type type;
  std::string_view name;
  std::string json_key;                     // "name": with the quotes and the colon
  bool is_member = false;                   // of the union
  bool is_map = false, is_optional = false, is_required = false;
  bool is_number = false;                   // or a flag, or a list of numbers: every bit pattern is one
  bool is_text = false;
  int pointer = kNone;                      // its place among the pointers of the struct, if it is always one of them
  const StructLayout* content = nullptr;    // of the struct that it is or lists; of a map, that of {name, value}
};

struct StructLayout {
  bool is_any = false, is_bare = false;
  std::vector<FieldLayout> fields;   // in the order of the schema, which is that of Field::getIndex()
  bool has_union = false;
};

inline constexpr std::size_t kMapName = 0, kMapValue = 1;   // places of a map's two fields

// Made at the first call for each struct, and kept. Thread safe.
const StructLayout& layout_of(capnp::StructSchema schema);

bool has_mark(capnp::StructSchema schema, Mark mark);
bool has_mark(capnp::StructSchema::Field field, Mark mark);
bool is_union_member(capnp::StructSchema::Field field);

std::string_view name_of(capnp::StructSchema::Field field);
std::string_view name_of(capnp::EnumSchema::Enumerant enumerant);  // its name in JSON
std::vector<std::string_view> names_of(capnp::StructSchema::FieldSubset fields);
std::vector<std::string_view> names_of(capnp::StructSchema::FieldList fields);
std::vector<std::string_view> names_of(capnp::EnumSchema schema);

// A place in a document, as a chain on the stack; becomes text only when an error needs it.
class Path {
 public:
  Path() = default;
  Path(const Path& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Path(const Path& parent, std::int64_t index) : parent_(&parent), index_(index) {}

  std::string str() const;  // pipeline[1].params.n_estimators

 private:
  const Path* parent_ = nullptr;
  std::string_view key_;
  std::int64_t index_ = -1;
};

// Throws Error with the path in `where` and at the front of the message.
[[noreturn]] void fail(ErrorCode code, const Path& path, const std::string& message);

std::string quoted(std::string_view text);  // in quotes, shortened if long
std::string one_of(const std::vector<std::string_view>& names);
std::string did_you_mean(std::string_view name,
                         const std::vector<std::string_view>& names);  // or the list of names

}  // namespace kedge::schema
