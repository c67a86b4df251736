// Checks a parameter against its declared forms, and writes the declaration as text and as JSON Schema.
#include "engine/core/params.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::ParamForm;
using schema::Value;
using Type = ParamForm::Type;

ParamForm bounded(Type type, const Bounds& bounds) {
  ParamForm form{.type = type};
  form.minimum = bounds.minimum, form.maximum = bounds.maximum;
  form.exclusiveMinimum = bounds.exclusive_minimum, form.exclusiveMaximum = bounds.exclusive_maximum;
  return form;
}

std::string number_text(double v) {
  return std::abs(v) < 1e15 && v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{}", v);
}

// The begin of a long value.
std::string value_text(const Value& value) {
  constexpr std::size_t kMostShown = 200;
  const double* number = std::get_if<double>(&value.data);
  if (number) return number_text(*number);
  std::string text = schema::to_string(value);
  if (text.size() <= kMostShown) return text;
  std::size_t end = kMostShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;   // no half character of UTF-8
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

// " at least 1 and at most 5", or nothing.
std::string bounds_text(const ParamForm& form) {
  std::string text;
  if (form.minimum) text += fmt::format("{} {}", form.exclusiveMinimum ? " above" : " at least", number_text(*form.minimum));
  if (form.maximum) {
    text += text.empty() ? " " : " and ";
    text += fmt::format("{} {}", form.exclusiveMaximum ? "below" : "at most", number_text(*form.maximum));
  }
  return text;
}

std::string form_text(const ParamForm& form);

// The forms of a list's elements, in the plural where that is easy.
std::string item_text(const ParamForm& list) {
  std::string text;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    text += i == 0 ? "" : i + 1 == list.items.size() ? " or " : ", ";
    switch (list.items[i].type) {
      case Type::kString: text += list.items[i].choices.empty() ? "strings" : form_text(list.items[i]); break;
      case Type::kNumber: text += "numbers" + bounds_text(list.items[i]); break;
      case Type::kInteger: text += "integers" + bounds_text(list.items[i]); break;
      case Type::kObject: text += "objects"; break;
      case Type::kArray: text += "lists"; break;
      default: text += form_text(list.items[i]);
    }
  }
  return text;
}

std::string form_text(const ParamForm& form) {
  switch (form.type) {
    case Type::kNull: return "null";
    case Type::kBoolean: return "true or false";
    case Type::kInteger: return "an integer" + bounds_text(form);
    case Type::kNumber: return "a number" + bounds_text(form);
    case Type::kString: return form.choices.empty() ? "a string" : fmt::format("\"{}\"", fmt::join(form.choices, "\", \""));
    case Type::kObject: return "an object";
    case Type::kArray: return form.items.empty() ? "a list of numbers" : "a list of " + item_text(form);
  }
  return {};
}

// "an integer at least 1, "auto" or null"
std::string forms_text(const std::vector<ParamForm>& forms) {
  std::string text;
  for (std::size_t i = 0; i < forms.size(); ++i)
    text += (i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ") + form_text(forms[i]);
  return text;
}

[[noreturn]] void refuse(ErrorCode code, std::string_view owner, std::string_view name, const Value& value,
                         std::string_view problem) {
  throw schema::Error(code, fmt::format("{}: {} is {}, {}", owner, name, value_text(value), problem),
                      fmt::format("params.{}", name));
}

bool within(const ParamForm& form, double v) {
  if (std::isnan(v)) return false;
  if (form.minimum && (form.exclusiveMinimum ? v <= *form.minimum : v < *form.minimum)) return false;
  if (form.maximum && (form.exclusiveMaximum ? v >= *form.maximum : v > *form.maximum)) return false;
  return true;
}

enum class Match { kNo, kTypeOnly, kYes };

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  return std::nullopt;
}

// More than JSON is sure to carry (RFC 8259, section 6). What is less can be added and doubled without a thought.
bool is_huge(const Value& value) { return std::abs(number_of(value).value_or(0)) >= 0x1p53; }

Match match_integer(const ParamForm& form, const Value& value, Value& out) {
  const std::optional<double> number = number_of(value);
  if (!number || *number != std::floor(*number)) return Match::kNo;
  if (is_huge(value) || !within(form, *number)) return Match::kTypeOnly;
  out = static_cast<std::int64_t>(*number);
  return Match::kYes;
}

Match match_number(const ParamForm& form, const Value& value, Value& out) {
  const std::optional<double> number = number_of(value);
  if (!number) return Match::kNo;
  out = *number;
  return within(form, *number) ? Match::kYes : Match::kTypeOnly;
}

// A NaN is as good as its name where that is allowed.
Match match_string(const ParamForm& form, const Value& value, Value& out) {
  if (const auto* real = std::get_if<double>(&value.data); real && std::isnan(*real)) {
    for (const std::string& choice : form.choices)
      if (choice == "NaN") return out = choice, Match::kYes;
  }
  const auto* text = std::get_if<std::string>(&value.data);
  if (!text) return Match::kNo;
  for (const std::string& choice : form.choices)
    if (choice == *text) return Match::kYes;
  return form.choices.empty() ? Match::kYes : Match::kTypeOnly;
}

// Where integers and numbers are both allowed, JSON's spelling decides: 1 is an integer, 1.0 a number.
bool is_other_kind_of_number(const std::vector<ParamForm>& forms, const ParamForm& form, const Value& value) {
  const bool integer = std::holds_alternative<std::int64_t>(value.data), real = std::holds_alternative<double>(value.data);
  const Type other = integer ? Type::kInteger : Type::kNumber;
  if (!(integer && form.type == Type::kNumber) && !(real && form.type == Type::kInteger)) return false;
  for (const ParamForm& f : forms)
    if (f.type == other) return true;
  return false;
}

Match match_form(const ParamForm& form, const Value& value, Value& out);

// Each element in the first form that it has.
Match match_array(const ParamForm& form, const Value& value, Value& out) {
  schema::ValueList items;
  if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) items.assign(flat->begin(), flat->end());
  else if (const auto* list = std::get_if<schema::ValueList>(&value.data)) items = *list;
  else return Match::kNo;
  for (Value& item : items) {
    Match best = Match::kNo;
    Value checked;
    for (const ParamForm& candidate : form.items) {
      if (is_other_kind_of_number(form.items, candidate, item)) continue;
      const Match match = match_form(candidate, item, checked);
      best = std::max(best, match);
      if (match == Match::kYes) break;
    }
    if (best != Match::kYes) return best;
    item = std::move(checked);
  }
  out = std::move(items);
  return Match::kYes;
}

Match match_form(const ParamForm& form, const Value& value, Value& out) {
  const auto yes_if = [](bool ok) { return ok ? Match::kYes : Match::kNo; };
  out = value;
  switch (form.type) {
    case Type::kNull: return yes_if(value.is_null());
    case Type::kBoolean: return yes_if(std::holds_alternative<bool>(value.data));
    case Type::kInteger: return match_integer(form, value, out);
    case Type::kNumber: return match_number(form, value, out);
    case Type::kString: return match_string(form, value, out);
    case Type::kObject: return yes_if(std::holds_alternative<schema::ValueMap>(value.data));
    case Type::kArray: return form.items.empty() ? yes_if(numbers_of(value).has_value()) : match_array(form, value, out);
  }
  return Match::kNo;
}

Value param_schema(const schema::ParamInfo& param);
Value form_schema(const ParamForm& form);

// One schema for several forms.
schema::ValueMap forms_schema(const std::vector<ParamForm>& forms) {
  if (forms.size() == 1) return std::get<schema::ValueMap>(form_schema(forms[0]).data);
  schema::ValueList list;
  for (const ParamForm& form : forms) list.push_back(form_schema(form));
  return {{"anyOf", std::move(list)}};
}

// What an object may hold. A field without a null form must be there.
void add_fields(const std::vector<schema::ParamInfo>& fields, schema::ValueMap& map) {
  schema::ValueMap properties;
  schema::ValueList required;
  for (const schema::ParamInfo& field : fields) {
    properties.emplace_back(field.name, param_schema(field));
    const bool can_lack = std::any_of(field.forms.begin(), field.forms.end(), [](const ParamForm& f) { return f.type == Type::kNull; });
    if (!can_lack) required.emplace_back(field.name);
  }
  map.emplace_back("properties", std::move(properties));
  if (!required.empty()) map.emplace_back("required", std::move(required));
  map.emplace_back("additionalProperties", false);
}

Value form_schema(const ParamForm& form) {
  static constexpr const char* kNames[] = {"null", "boolean", "integer", "number", "string", "object", "array"};
  schema::ValueMap map{{"type", kNames[static_cast<int>(form.type)]}};
  if (form.minimum) map.emplace_back(form.exclusiveMinimum ? "exclusiveMinimum" : "minimum", *form.minimum);
  if (form.maximum) map.emplace_back(form.exclusiveMaximum ? "exclusiveMaximum" : "maximum", *form.maximum);
  if (!form.choices.empty()) map.emplace_back("enum", schema::ValueList(form.choices.begin(), form.choices.end()));
  if (form.type == Type::kArray)
    map.emplace_back("items", form.items.empty() ? schema::ValueMap{{"type", "number"}} : forms_schema(form.items));
  if (!form.fields.empty()) add_fields(form.fields, map);
  return map;
}

Value param_schema(const schema::ParamInfo& param) {
  schema::ValueMap map = forms_schema(param.forms);
  map.emplace_back("default", param.defaultValue);
  map.emplace_back("description", param.doc);
  return map;
}

}  // namespace

ParamForm null_form() { return {.type = Type::kNull}; }
ParamForm boolean_form() { return {.type = Type::kBoolean}; }
ParamForm integer_form(Bounds bounds) { return bounded(Type::kInteger, bounds); }
ParamForm number_form(Bounds bounds) { return bounded(Type::kNumber, bounds); }
ParamForm string_form(std::vector<std::string> choices) {
  ParamForm form{.type = Type::kString};
  form.choices = std::move(choices);
  return form;
}
ParamForm nan_form() { return string_form({"NaN"}); }
ParamForm object_form(std::vector<schema::ParamInfo> fields) {
  ParamForm form{.type = Type::kObject};
  form.fields = std::move(fields);
  return form;
}
ParamForm array_form() { return {.type = Type::kArray}; }
ParamForm array_form(std::vector<ParamForm> items) {
  ParamForm form{.type = Type::kArray};
  form.items = std::move(items);
  return form;
}

Value check_param(std::string_view owner, const schema::ParamInfo& info, const Value& value) {
  const ParamForm* near = nullptr;
  Value out;
  for (const ParamForm& form : info.forms) {
    if (is_other_kind_of_number(info.forms, form, value)) continue;
    const Match match = match_form(form, value, out);
    if (match == Match::kYes) return out;
    if (match == Match::kTypeOnly && !near) near = &form;
  }
  if (near && near->type == Type::kInteger && is_huge(value) && within(*near, *number_of(value)))
    refuse_param(owner, info.name, value, "must be between -2^53 and 2^53, without these");
  const ErrorCode code = near ? ErrorCode::kInvalidValue : ErrorCode::kWrongType;
  const bool only_bounds = near && info.forms.size() == 1 && (near->minimum || near->maximum);
  refuse(code, owner, info.name, value, "must be" + (only_bounds ? bounds_text(*near) : " " + forms_text(info.forms)));
}

void refuse_param(std::string_view owner, std::string_view name, const Value& value, std::string_view problem) {
  refuse(ErrorCode::kInvalidValue, owner, name, value, problem);
}

void refuse_unknown_param(std::string_view owner, std::string_view name, const std::vector<schema::ParamInfo>& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  const std::string_view nearest = schema::nearest_name(name, names);
  const std::string hint = nearest.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                           : fmt::format("did you mean \"{}\"?", nearest);
  throw schema::Error(ErrorCode::kUnknownParameter, fmt::format("{} has no parameter \"{}\"; {}", owner, name, hint),
                      fmt::format("params.{}", name));
}

const Value* find_value(const schema::ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key) return &value;
  return nullptr;
}

std::optional<std::vector<double>> numbers_of(const Value& value) {
  if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) return *flat;
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!list) return std::nullopt;
  std::vector<double> numbers;
  for (const Value& item : *list) {
    if (const auto* real = std::get_if<double>(&item.data)) numbers.push_back(*real);
    else if (const auto* integer = std::get_if<std::int64_t>(&item.data)) numbers.push_back(static_cast<double>(*integer));
    else return std::nullopt;
  }
  return numbers;
}

std::optional<std::vector<std::vector<double>>> rows_of(const Value& value) {
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!list || list->empty()) return std::nullopt;
  std::vector<std::vector<double>> rows;
  for (const Value& item : *list) {
    auto row = numbers_of(item);
    if (!row || row->empty() || (!rows.empty() && row->size() != rows[0].size())) return std::nullopt;
    rows.push_back(std::move(*row));
  }
  return rows;
}

Value json_schema(const schema::EstimatorInfo& info) {
  schema::ValueMap properties;
  for (const auto& param : info.params) properties.emplace_back(param.name, param_schema(param));
  return schema::ValueMap{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                          {"title", info.name},
                          {"description", info.doc},
                          {"type", "object"},
                          {"properties", std::move(properties)},
                          {"additionalProperties", false}};
}

}  // namespace kedge::engine
