// Looks up annotations and renders paths.
#include "schemas/layout.h"

#include <map>
#include <memory>
#include <mutex>

#include "schemas/json_text.h"

namespace kedge::schema {
namespace {

constexpr std::uint64_t kNameAnnotation = 0xe035d8224466f7d1;
constexpr std::size_t kLongestQuote = 64;

template <class Proto>
bool has_annotation(Proto proto, std::uint64_t id) {
  for (auto annotation : proto.getAnnotations())
    if (annotation.getId() == id) return true;
  return false;
}

std::string_view view(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

template <class Fields>
std::vector<std::string_view> field_names(Fields fields) {
  std::vector<std::string_view> names;
  for (auto field : fields) names.push_back(name_of(field));
  return names;
}

std::string shortened(std::string_view text) {
  return text.size() <= kLongestQuote ? std::string(text) : valid_utf8(text.substr(0, kLongestQuote)) + "...";
}

using Layouts = std::map<std::uint64_t, std::unique_ptr<StructLayout>>;   // by the struct's id

bool is_number(capnp::Type type) {
  switch (type.which()) {
    case capnp::schema::Type::TEXT:
    case capnp::schema::Type::ENUM:
    case capnp::schema::Type::STRUCT:
      return false;
    case capnp::schema::Type::LIST:
      return type.asList().getElementType().isFloat64();
    default:
      return true;
  }
}

int pointer_of(capnp::StructSchema::Field field) {
  const capnp::Type type = field.getType();
  const bool is_pointer = field.getProto().isSlot() && (type.isText() || type.isData() || type.isStruct() || type.isList());
  return is_pointer && !is_union_member(field) ? static_cast<int>(field.getProto().getSlot().getOffset()) : FieldLayout::kNone;
}

// `known` are finished; what is missing goes to `made` with all that it contains.
const StructLayout* make_layout(capnp::StructSchema schema, const Layouts& known, Layouts& made) {
  const std::uint64_t id = schema.getProto().getId();
  if (const auto found = known.find(id); found != known.end()) return found->second.get();
  const auto [place, is_new] = made.try_emplace(id);
  if (!is_new) return place->second.get();
  place->second = std::make_unique<StructLayout>();
  StructLayout& layout = *place->second;
  layout.is_any = has_mark(schema, Mark::kAny), layout.is_bare = has_mark(schema, Mark::kBare);
  layout.has_union = schema.getUnionFields().size() > 0;
  for (auto field : schema.getFields()) {
    const capnp::Type type = field.getType();
    FieldLayout entry{.field = field, .type = type, .name = name_of(field)};
    append_json_string(entry.json_key, entry.name);
    entry.json_key += ':';
    entry.is_member = is_union_member(field);
    entry.is_map = has_mark(field, Mark::kMap), entry.is_optional = has_mark(field, Mark::kOptional);
    entry.is_required = has_mark(field, Mark::kRequired), entry.is_number = is_number(type);
    entry.is_text = type.isText(), entry.pointer = pointer_of(field);
    const capnp::Type item = type.isList() ? type.asList().getElementType() : type;
    if (item.isStruct()) entry.content = make_layout(item.asStruct(), known, made);
    layout.fields.push_back(std::move(entry));
  }
  return &layout;
}

}  // namespace

const StructLayout& layout_of(capnp::StructSchema schema) {
  static std::mutex mutex;
  static Layouts& layouts = *new Layouts;   // never destroyed: threads may outlive static objects
  const std::lock_guard lock(mutex);
  Layouts made;   // of its own until all is there: memory may end in between
  const StructLayout* layout = make_layout(schema, layouts, made);
  layouts.merge(made);
  return *layout;
}

bool has_mark(capnp::StructSchema schema, Mark mark) {
  return has_annotation(schema.getProto(), static_cast<std::uint64_t>(mark));
}

bool has_mark(capnp::StructSchema::Field field, Mark mark) {
  return has_annotation(field.getProto(), static_cast<std::uint64_t>(mark));
}

bool is_union_member(capnp::StructSchema::Field field) {
  return field.getProto().getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT;
}

std::string_view name_of(capnp::StructSchema::Field field) {
  return view(field.getProto().getName());
}

std::string_view name_of(capnp::EnumSchema::Enumerant enumerant) {
  for (auto annotation : enumerant.getProto().getAnnotations())
    if (annotation.getId() == kNameAnnotation) return view(annotation.getValue().getText());
  return view(enumerant.getProto().getName());
}

std::vector<std::string_view> names_of(capnp::StructSchema::FieldSubset fields) {
  return field_names(fields);
}

std::vector<std::string_view> names_of(capnp::StructSchema::FieldList fields) {
  return field_names(fields);
}

std::vector<std::string_view> names_of(capnp::EnumSchema schema) {
  std::vector<std::string_view> names;
  for (auto enumerant : schema.getEnumerants()) names.push_back(name_of(enumerant));
  return names;
}

std::string Path::str() const {
  if (!parent_) return {};
  std::string text = parent_->str();
  if (index_ >= 0) return text + '[' + std::to_string(index_) + ']';
  if (!text.empty()) text += '.';
  return text + shortened(key_);
}

void fail(ErrorCode code, const Path& path, const std::string& message) {
  const std::string where = path.str();
  throw Error{code, where.empty() ? message : where + ": " + message, where};
}

std::string quoted(std::string_view text) {
  return to_string(Value(shortened(text)));
}

std::string one_of(const std::vector<std::string_view>& names) {
  std::string list;
  for (std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& names) {
  if (const std::string_view near = nearest_name(name, names); !near.empty())
    return "did you mean " + quoted(near) + '?';
  return names.empty() ? "there are none here" : "known are " + one_of(names);
}

}  // namespace kedge::schema
