// Values, bytes and lists of plain items to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

void store(const Value& value, wire::Value::Builder builder, int depth);

void store(const ValueMap& map, capnp::List<wire::NamedValue>::Builder builder, int depth) {
  unsigned i = 0;
  for (const auto& [name, value] : map) {
    auto entry = builder[i++];
    entry.setName(Utf8(name));
    store(value, entry.initValue(), depth);
  }
}

struct ValueStorer {
  wire::Value::Builder builder;
  int depth;

  void operator()(std::monostate) { builder.setNothing(); }
  void operator()(bool v) { builder.setBoolean(v); }
  void operator()(std::int64_t v) { builder.setInteger(v); }
  void operator()(double v) { builder.setNumber(v); }
  void operator()(const std::string& v) { builder.setText(Utf8(v)); }
  void operator()(const std::vector<double>& v) { store_list(v, builder.initNumbers(v.size())); }
  void operator()(const ValueList& v) {
    auto list = builder.initList(v.size());
    for (unsigned i = 0; i < list.size(); ++i) store(v[i], list[i], depth + 1);
  }
  void operator()(const ValueMap& v) { store(v, builder.initObject(v.size()), depth + 1); }
};

void store(const Value& value, wire::Value::Builder builder, int depth) {
  if (depth > kMaxValueDepth)
    throw Error{ErrorCode::kInvalidValue,
                "a value nests deeper than " + std::to_string(kMaxValueDepth) + " levels"};
  std::visit(ValueStorer{builder, depth}, value.data);
}

}  // namespace

void store(const Value& value, wire::Value::Builder builder) {
  store(value, builder, 0);
}

void load(Value& value, wire::Value::Reader reader) {
  switch (reader.which()) {
    case wire::Value::NOTHING:
      value.data = std::monostate{};
      break;
    case wire::Value::BOOLEAN:
      value.data = reader.getBoolean();
      break;
    case wire::Value::INTEGER:
      value.data = reader.getInteger();
      break;
    case wire::Value::NUMBER:
      value.data = reader.getNumber();
      break;
    case wire::Value::TEXT:
      value.data = text(reader.getText());
      break;
    case wire::Value::NUMBERS:
      load_list(value.data.emplace<std::vector<double>>(), reader.getNumbers());
      break;
    case wire::Value::LIST:
      load_list(value.data.emplace<ValueList>(), reader.getList());
      break;
    case wire::Value::OBJECT:
      load_list(value.data.emplace<ValueMap>(), reader.getObject());
      break;
  }
}

void store_list(const std::vector<std::string>& texts, capnp::List<capnp::Text>::Builder builder) {
  for (unsigned i = 0; i < builder.size(); ++i) builder.set(i, Utf8(texts[i]));
}

void load_list(std::vector<std::string>& texts, capnp::List<capnp::Text>::Reader reader) {
  texts.resize(reader.size());
  for (unsigned i = 0; i < reader.size(); ++i) texts[i] = text(reader[i]);
}

void store_list(const std::vector<double>& numbers, capnp::List<double>::Builder builder) {
  for (unsigned i = 0; i < builder.size(); ++i) builder.set(i, numbers[i]);
}

void load_list(std::vector<double>& numbers, capnp::List<double>::Reader reader) {
  numbers.resize(reader.size());
  for (unsigned i = 0; i < reader.size(); ++i) numbers[i] = reader[i];
}

void store_list(const std::vector<std::int64_t>& numbers, capnp::List<std::int64_t>::Builder builder) {
  for (unsigned i = 0; i < builder.size(); ++i) builder.set(i, numbers[i]);
}

void load_list(std::vector<std::int64_t>& numbers, capnp::List<std::int64_t>::Reader reader) {
  numbers.resize(reader.size());
  for (unsigned i = 0; i < reader.size(); ++i) numbers[i] = reader[i];
}

capnp::Data::Reader data_of(const std::string& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

std::string bytes(capnp::Data::Reader reader) {
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}

bool is_in_words(const std::string& bytes) {
  return bytes.size() % sizeof(capnp::word) == 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0;
}

void fail_required(const char* field) {
  throw Error{ErrorCode::kInvalidValue, std::string(field) + ": is required", field};
}

}  // namespace kedge::schema
