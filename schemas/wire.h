// Conversions between the value types of schemas/ and the structs that Cap'n Proto generates: store(value,
// builder) and load(value, reader), one pair per type. Those of structs are generated (codegen/); their parts are
// here. Internal to the codec: the only header of ours that shows Cap'n Proto.
#pragma once

#include <capnp/orphan.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/catalogue.capnp.h"
#include "schemas/catalogue.h"
#include "schemas/dataset.capnp.h"
#include "schemas/error.capnp.h"
#include "schemas/event.capnp.h"
#include "schemas/event.h"
#include "schemas/job.capnp.h"
#include "schemas/job.h"
#include "schemas/json_text.h"
#include "schemas/model.capnp.h"
#include "schemas/model.h"
#include "schemas/preview.h"
#include "schemas/registry.capnp.h"
#include "schemas/registry.h"
#include "schemas/value.capnp.h"
#include "schemas/worker.capnp.h"
#include "schemas/worker.h"

namespace kedge::schema {

inline constexpr int kMaxJsonDepth = 64;   // levels of arrays and objects in a JSON text
inline constexpr int kMaxValueDepth = 48;  // levels within one Value, so that what surrounds it fits as well

// A load() assumes a message that check() has passed; it reads each pointer once, so that the traversal limit
// is not spent twice.
void store(const Value&, wire::Value::Builder);
void load(Value&, wire::Value::Reader);

void store_list(const std::vector<std::string>&, capnp::List<capnp::Text>::Builder);
void load_list(std::vector<std::string>&, capnp::List<capnp::Text>::Reader);
void store_list(const std::vector<double>&, capnp::List<double>::Builder);
void load_list(std::vector<double>&, capnp::List<double>::Reader);
void store_list(const std::vector<std::int64_t>&, capnp::List<std::int64_t>::Builder);
void load_list(std::vector<std::int64_t>&, capnp::List<std::int64_t>::Reader);

// A string as Cap'n Proto text, made valid UTF-8 if it is not: a stray byte in a log line must not lose the
// message.
class Utf8 {
 public:
  explicit Utf8(const std::string& text) : text_(&text) {  // borrows it for the statement
    if (!is_utf8(text)) repaired_ = valid_utf8(text), text_ = &repaired_;
  }
  Utf8(const Utf8&) = delete;
  operator capnp::Text::Reader() const { return {text_->c_str(), text_->size()}; }

 private:
  const std::string* text_;
  std::string repaired_;
};

inline std::string text(capnp::Text::Reader reader) {
  return {reader.begin(), reader.size()};
}

// Whether an optional field goes into the message: where it is not as the value type has it. A null counts as absent.
template <class T>
bool is_given(const T& value, const T& usual) {
  return value != usual;
}
inline bool is_given(const std::optional<Value>& value, const std::optional<Value>&) {
  return value && !value->is_null();
}

// What an optional field holds, and the place that it is read into: its value type need not be a std::optional.
template <class T>
const T& content(const T& value) {
  return value;
}
template <class T>
const T& content(const std::optional<T>& value) {
  return *value;
}
template <class T>
T& place(T& value) {
  return value;
}
template <class T>
T& place(std::optional<T>& value) {
  return value.emplace();
}

// Absent and null leave the default. T: Value or std::optional<Value>.
template <class T>
void load_unless_null(T& value, wire::Value::Reader reader) {
  Value given;
  load(given, reader);
  if (!given.is_null()) value = std::move(given);
}

capnp::Data::Reader data_of(const std::string& bytes);
std::string bytes(capnp::Data::Reader reader);

// Bytes that a message can point to instead of having a copy: whole words, as those of models are. They have to outlive it.
bool is_in_words(const std::string& bytes);
template <class Builder>
capnp::Orphan<capnp::Data> lent(const std::string& bytes, Builder message) {
  return capnp::Orphanage::getForMessageContaining(message).referenceExternalData(data_of(bytes));
}

// Whether a job needs a pipeline: every task but those of a stored model fits one.
inline bool fits_a_pipeline(const JobSpec& spec) {
  return !model_of(spec.task);
}

[[noreturn]] void fail_required(const char* field);

}  // namespace kedge::schema

#include "schemas/wire_structs.h"

namespace kedge::schema {

// The event that a job's result is has no struct of its own on the wire.
inline void store(const ResultEvent& event, wire::Result::Builder builder) {
  store(event.result, builder);
}
inline void load(ResultEvent& event, wire::Result::Reader reader) {
  load(event.result, reader);
}

// Lists of what has a store() and a load().
template <class Item, class ListBuilder>
void store_list(const std::vector<Item>& items, ListBuilder builder) {
  unsigned i = 0;
  for (const Item& item : items) store(item, builder[i++]);
}

template <class Item, class ListReader>
void load_list(std::vector<Item>& items, ListReader reader) {
  items.resize(reader.size());
  unsigned i = 0;
  for (Item& item : items) load(item, reader[i++]);
}

}  // namespace kedge::schema
