// Records of a model's state: see state_records.h.
#include "engine/core/state_records.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "engine/core/model_file.h"
#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr int kMaxDepth = 48;   // of lists and objects in a value

// A value as bytes: the place of its alternative, then what it holds. Doubles keep their bits.
class ValueBytes {
 public:
  static void append(std::string& out, const Value& value) {
    out.push_back(static_cast<char>(value.data.index()));
    std::visit([&out](const auto& held) { put(out, held); }, value.data);
  }

 private:
  template <class V>
  static void raw(std::string& out, V value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void size(std::string& out, std::size_t size) { raw(out, static_cast<std::uint32_t>(size)); }
  static void put(std::string&, std::monostate) {}
  static void put(std::string& out, bool value) { out.push_back(value ? 1 : 0); }
  static void put(std::string& out, std::int64_t value) { raw(out, value); }
  static void put(std::string& out, double value) { raw(out, value); }
  static void put(std::string& out, const std::string& value) { size(out, value.size()), out += value; }
  static void put(std::string& out, const std::vector<double>& values) {
    size(out, values.size());
    for (const double value : values) raw(out, value);
  }
  static void put(std::string& out, const schema::ValueList& values) {
    size(out, values.size());
    for (const Value& value : values) append(out, value);
  }
  static void put(std::string& out, const schema::ValueMap& values) {
    size(out, values.size());
    for (const auto& [name, value] : values) put(out, name), append(out, value);
  }
};

// Reads what ValueBytes wrote. Nothing is trusted: before memory is allocated for a list, the file must have a byte of
// its own for each element that the list claims, at every depth of nesting. So a value takes at most sizeof(Value)
// bytes for each byte of the file.
class ValueReader {
 public:
  explicit ValueReader(std::span<const std::byte> bytes) : left_(bytes) {}

  Value value(int depth = 0) {
    if (depth > kMaxDepth) throw std::length_error("a value nests too deep");
    switch (raw<std::uint8_t>()) {
      case 0:
        return {};
      case 1:
        return raw<std::uint8_t>() != 0;
      case 2:
        return raw<std::int64_t>();
      case 3:
        return raw<double>();
      case 4:
        return text();
      case 5:
        return numbers();
      case 6:
        return list(depth);
      case 7:
        return map(depth);
      default:
        throw std::length_error("a value has an unknown type");
    }
  }
  bool at_end() const { return left_.empty(); }

 private:
  template <class V>
  V raw() {
    V value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > left_.size() - promised_) throw std::length_error("a value is cut short");
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::size_t size(std::size_t least) {   // of things that take at least so many bytes each
    const std::size_t size = raw<std::uint32_t>();
    if (size > (left_.size() - promised_) / least) throw std::length_error("a value is cut short");
    return size;
  }
  // Reads into each of `items`; meanwhile, `least` bytes stay reserved for each that has not been read.
  template <class Items, class Read>
  void each(Items& items, std::size_t least, Read read) {
    if (KEDGE_CONTROL("trust-counts")) least = 0;
    promised_ += items.size() * least;
    for (auto& item : items) {
      promised_ -= least;
      read(item);
    }
  }
  std::string text() {
    const auto bytes = take(size(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Value numbers() {
    std::vector<double> values(size(sizeof(double)));
    for (double& value : values) value = raw<double>();
    return values;
  }
  Value list(int depth) {
    schema::ValueList values(size(1));
    each(values, 1, [&](Value& item) { item = value(depth + 1); });
    return values;
  }
  Value map(int depth) {
    constexpr std::size_t kLeast = sizeof(std::uint32_t) + 1;   // the length of a name, and a type
    schema::ValueMap values(size(kLeast));
    each(values, kLeast, [&](auto& pair) { pair.first = text(), pair.second = value(depth + 1); });
    return values;
  }
  std::span<const std::byte> left_;
  std::size_t promised_ = 0;   // of the bytes that are left, to things that have been counted and not read
};

template <class V>
void append_raw(std::string& out, V value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& out, std::string_view text) {
  append_raw(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Takes records from a state and their numbers from the tensors.
class RecordReader {
 public:
  RecordReader(std::span<const std::byte> state, std::span<const std::byte> tensors)
      : state_(state), tensors_(tensors) {}

  bool at_end() const { return state_.empty(); }
  bool has_tensors() const { return !tensors_.empty(); }
  StateRecord next() {
    StateRecord record{.name = text(), .type = raw<StateType>()};
    if (const std::size_t element = element_bytes(record.type)) take_tensor(record, element);
    else record.value = value_of(record.type);
    return record;
  }

 private:
  [[noreturn]] static void refuse(std::string_view problem) {
    throw schema::Error(schema::ErrorCode::kModelCorrupt, fmt::format("model: its state {}", problem));
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > state_.size()) refuse("is cut short");
    const auto bytes = state_.first(size);
    state_ = state_.subspan(size);
    return bytes;
  }
  template <class V>
  V raw() {
    V value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = take(raw<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Value value_of(StateType type) {
    switch (type) {
      case StateType::kBool:
        return raw<std::uint8_t>() != 0;
      case StateType::kText:
        return text();
      case StateType::kReal:
        return raw<double>();
      case StateType::kNumber:
      case StateType::kCount:
        return raw<std::int64_t>();
      case StateType::kTexts:
        return texts();
      case StateType::kValue:
        return value();
      default:
        refuse("has a record of an unknown type");
    }
  }
  Value texts() {
    const auto count = raw<std::uint64_t>();
    if (count > state_.size() / sizeof(std::uint32_t)) refuse("is cut short");
    schema::ValueList all;
    for (std::uint64_t i = 0; i < count; ++i) all.emplace_back(text());
    return all;
  }
  Value value() {
    try {
      return value_of_bytes(take(raw<std::uint32_t>()));
    } catch (const std::length_error& error) {
      refuse(error.what());
    }
  }
  void take_tensor(StateRecord& record, std::size_t element) {
    record.rows = raw<std::int64_t>(), record.cols = raw<std::int64_t>();
    const auto room = static_cast<std::int64_t>(tensors_.size() / element);
    const bool fits = record.rows >= 0 && record.cols >= 0 && (record.cols == 0 || record.rows <= room / record.cols);
    const std::size_t bytes = fits ? static_cast<std::size_t>(record.rows * record.cols) * element : 0;
    if (!fits || padded_size(bytes) > tensors_.size()) refuse("names more numbers than the file holds");
    record.numbers = tensors_.first(bytes);
    tensors_ = tensors_.subspan(padded_size(bytes));
  }

  std::span<const std::byte> state_, tensors_;   // what is still to be read
};

struct TypeRow {
  std::string_view name;
  std::size_t element;
};
constexpr std::array<TypeRow, 13> kTypes{{{"", 0},
                                          {"float32", 4},
                                          {"float64", 8},
                                          {"int32", 4},
                                          {"int64", 8},
                                          {"uint8", 1},
                                          {"bool", 0},
                                          {"text", 0},
                                          {"value", 0},
                                          {"texts", 0},
                                          {"number", 0},
                                          {"real", 0},
                                          {"count", 0}}};
const TypeRow& row_of(StateType type) {
  const auto place = static_cast<std::size_t>(type);
  return kTypes[place < kTypes.size() ? place : 0];
}

}   // namespace

std::string_view name_of(StateType type) {
  return row_of(type).name;
}
std::size_t element_bytes(StateType type) {
  return row_of(type).element;
}

std::string value_bytes(const Value& value) {
  std::string bytes;
  ValueBytes::append(bytes, value);
  return bytes;
}

Value value_of_bytes(std::span<const std::byte> bytes) {
  ValueReader reader(bytes);
  Value value = reader.value();
  if (!reader.at_end()) throw std::length_error("has bytes after its end");
  return value;
}

void for_records(std::span<const std::byte> state, std::span<const std::byte> tensors,
                 const std::function<void(const StateRecord&)>& visit) {
  RecordReader reader(state, tensors);
  while (!reader.at_end()) visit(reader.next());
  if (reader.has_tensors())
    throw schema::Error(schema::ErrorCode::kModelCorrupt, "model: it has more numbers than its state names");
}

void append_record(std::string& state, const StateRecord& record) {
  append_text(state, record.name);
  append_raw(state, record.type);
  if (element_bytes(record.type)) return append_raw(state, record.rows), append_raw(state, record.cols);
  const Value::Data& data = record.value.data;
  switch (record.type) {
    case StateType::kBool:
      return append_raw(state, static_cast<std::uint8_t>(std::get<bool>(data)));
    case StateType::kText:
      return append_text(state, std::get<std::string>(data));
    case StateType::kReal:
      return append_raw(state, std::get<double>(data));
    case StateType::kTexts: {
      const auto& texts = std::get<schema::ValueList>(data);
      append_raw(state, static_cast<std::uint64_t>(texts.size()));
      for (const Value& text : texts) append_text(state, std::get<std::string>(text.data));
      return;
    }
    case StateType::kValue:
      return append_text(state, value_bytes(record.value));
    default:
      return append_raw(state, std::get<std::int64_t>(data));
  }
}

}   // namespace kedge::engine
