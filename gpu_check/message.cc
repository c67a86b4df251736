// Writes and reads the messages.
#include "gpu_check/message.h"

#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::gpu_check {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

Value value_of(const schema::DeviceEntry& device) {
  return ValueMap{
      {"id", device.id}, {"name", device.name}, {"driver", device.driver}, {"memoryBytes", device.memoryBytes}};
}

struct Writer {
  ValueMap operator()(const Opened& m) const {
    return {{"device", value_of(m.device)}, {"cpu", value_of(m.cpu)}, {"items", m.items}};
  }
  ValueMap operator()(const Unavailable& m) const { return {{"unavailable", m.why}}; }
  ValueMap operator()(const Begun& m) const { return {{"begun", m.item}}; }
  ValueMap operator()(const Checked& m) const {
    ValueMap map{{"checked", m.item}};
    ValueList disagreements, measures;
    for (const std::string& text : m.finding.disagreements) disagreements.emplace_back(text);
    for (const Measure& measure : m.finding.measures) measures.push_back(gpu_check::value_of(measure));
    map.emplace_back("disagreements", std::move(disagreements));
    map.emplace_back("measures", std::move(measures));
    if (m.finding.deviation) map.emplace_back("deviation", *m.finding.deviation);
    if (m.finding.bound) map.emplace_back("bound", *m.finding.bound);
    return map;
  }
};

const Value* member(const Value& value, std::string_view name) {
  if (const auto* map = std::get_if<ValueMap>(&value.data))
    for (const auto& [key, inner] : *map)
      if (key == name) return &inner;
  return nullptr;
}

std::string text_in(const Value& value, std::string_view name) {
  const Value* const found = member(value, name);
  const auto* const text = found ? std::get_if<std::string>(&found->data) : nullptr;
  return text ? *text : "";
}

std::optional<double> number(const Value* value) {
  if (!value) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value->data)) return *real;
  const auto* text = std::get_if<std::string>(&value->data);   // JSON has no infinity
  return text ? std::optional(std::stod(*text)) : std::nullopt;
}

schema::DeviceEntry device_in(const Value& message, std::string_view name) {
  const Value* const value = member(message, name);
  if (!value) return {};
  return {.id = text_in(*value, "id"),
          .name = text_in(*value, "name"),
          .driver = text_in(*value, "driver"),
          .memoryBytes = static_cast<std::int64_t>(number(member(*value, "memoryBytes")).value_or(0))};
}

template <class F>
void for_each_item(const Value* value, F&& f) {
  if (!value) return;
  if (const auto* list = std::get_if<ValueList>(&value->data))
    for (const Value& item : *list) f(item);
}

Checked checked_in(const Value& value) {
  Checked checked{text_in(value, "checked"),
                  {.deviation = number(member(value, "deviation")), .bound = number(member(value, "bound"))}};
  for_each_item(member(value, "disagreements"), [&](const Value& item) {
    if (const auto* text = std::get_if<std::string>(&item.data)) checked.finding.disagreements.push_back(*text);
  });
  for_each_item(member(value, "measures"), [&](const Value& item) {
    checked.finding.measures.push_back(
        {text_in(item, "name"), number(member(item, "value")).value_or(0), text_in(item, "unit")});
  });
  return checked;
}

}   // namespace

Value value_of(const Measure& measure) {
  return ValueMap{{"name", measure.name}, {"value", measure.value}, {"unit", measure.unit}};
}

std::string line_of(const Message& message) {
  return schema::value_to_json(std::visit(Writer(), message));
}

std::optional<Message> message_of(std::string_view line) try {
  if (!line.starts_with("{")) return std::nullopt;
  const Value value = schema::value_from_json(line);
  if (member(value, "device")) {
    const double items = number(member(value, "items")).value_or(0);
    return Opened{device_in(value, "device"), device_in(value, "cpu"), static_cast<std::int64_t>(items)};
  }
  if (member(value, "unavailable")) return Unavailable{text_in(value, "unavailable")};
  if (member(value, "begun")) return Begun{text_in(value, "begun")};
  if (member(value, "checked")) return checked_in(value);
  return std::nullopt;
} catch (const schema::Error&) {
  return std::nullopt;
}

}   // namespace kedge::gpu_check
