// Finds the place that a parameter path names, and puts a value there.
#include "engine/estimators/composition/nested_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/nested.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

[[noreturn]] void refuse(const std::string& where, std::string message) {
  throw schema::Error(schema::ErrorCode::kInvalidValue, std::move(message), where);
}

struct Path {
  std::string_view head, rest;   // around the first "__"
};

Path split(std::string_view path) {
  const std::size_t cut = path.find("__");
  if (cut == std::string_view::npos) return {path, {}};
  return {path.substr(0, cut), path.substr(cut + 2)};
}

Value& param(schema::Step& step, std::string_view name) {
  const auto found = std::find_if(step.params.begin(), step.params.end(), [&](const auto& p) { return p.first == name; });
  if (found != step.params.end()) return found->second;
  return step.params.emplace_back(std::string(name), Value()).second;
}

// The parameters that hold a list of named steps, and the field of an element that holds the step.
struct StepList {
  const char *param, *field;
};
constexpr StepList kStepLists[] = {
    {"transformers", "transformer"}, {"transformer_list", "transformer"}, {"estimators", "estimator"}};
// Those that hold a step themselves.
constexpr std::array kStepParams = {"remainder", "estimator", "final_estimator"};

bool has_param(const schema::Step& step, std::string_view name) {
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  return entry &&
         std::ranges::any_of(entry->info.params, [&](const schema::ParamInfo& info) { return info.name == name; });
}

// The list of a step, if it may have one.
const StepList* list_of(const schema::Step& step) {
  const auto found =
      std::ranges::find_if(kStepLists, [&](const StepList& list) { return has_param(step, list.param); });
  return found == std::end(kStepLists) ? nullptr : found;
}

// The name and the step of an element, whether it is an object or a list; null if it is neither.
struct Element {
  const std::string* name = nullptr;
  Value* step = nullptr;
};

Element element_of(Value& value, const char* field) {
  Element element;
  if (auto* tuple = std::get_if<ValueList>(&value.data); tuple && tuple->size() >= 2) {
    element = {std::get_if<std::string>(&(*tuple)[0].data), &(*tuple)[1]};
  } else if (auto* map = std::get_if<ValueMap>(&value.data)) {
    for (auto& [key, content] : *map) {
      if (key == "name") element.name = std::get_if<std::string>(&content.data);
      if (key == field) element.step = &content;
    }
  }
  return element.name && element.step ? element : Element{};
}

std::vector<Element> elements_of(schema::Step& step) {
  std::vector<Element> elements;
  const StepList* const list = list_of(step);
  auto* values = list ? std::get_if<ValueList>(&param(step, list->param).data) : nullptr;
  for (std::size_t i = 0; values && i < values->size(); ++i)
    if (const Element element = element_of((*values)[i], list->field); element.name) elements.push_back(element);
  return elements;
}

// The step of that name within another: of its list, or a parameter that is one; null if there is none.
Value* find_nested(schema::Step& step, std::string_view name) {
  for (const Element& element : elements_of(step))
    if (*element.name == name) return element.step;
  const bool is_step = std::ranges::find(kStepParams, name) != kStepParams.end() && has_param(step, name);
  return is_step ? &param(step, name) : nullptr;
}

std::string nearest_element(schema::Step& step, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Element& element : elements_of(step)) names.push_back(*element.name);
  const std::string_view nearest = schema::nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

void set_in_step(Value& value, std::string_view path, const Value& to, const std::string& where) {
  schema::Step step = step_of(value, where);
  set_nested_param(step, path, to, where);
  value = value_of(step);
}

// `transformer`: a step, a list of steps, or a word.
void set_in_transformer(Value& transformer, std::string_view path, const Value& to, const std::string& where) {
  if (const auto* word = std::get_if<std::string>(&transformer.data)) {
    refuse(where, fmt::format("'{}' is set, but the transformer is \"{}\" and has no parameters", path, *word));
  }
  auto* list = std::get_if<ValueList>(&transformer.data);
  if (!list) return set_in_step(transformer, path, to, where);
  std::vector<schema::Step> steps;
  for (const Value& element : *list) {
    const bool is_word = std::holds_alternative<std::string>(element.data);
    steps.push_back(is_word ? schema::Step{.estimator = "passthrough", .params = {}} : step_of(element, where));
  }
  const std::vector<std::string> names = step_names(steps);
  const Path at = split(path);
  const auto found = std::find(names.begin(), names.end(), at.head);
  if (found == names.end()) {
    const std::string_view nearest = schema::nearest_name(at.head, std::vector<std::string_view>(names.begin(), names.end()));
    refuse(where, fmt::format("the steps have no '{}'{}", at.head, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
  Value& element = (*list)[static_cast<std::size_t>(found - names.begin())];
  if (at.rest.empty()) element = to;
  else set_in_transformer(element, at.rest, to, where);
}

}  // namespace

void set_nested_param(schema::Step& step, std::string_view path, const Value& value, const std::string& where) {
  const Path at = split(path);
  Value* const nested = find_nested(step, at.head);
  if (!nested) {
    if (const StepList* list = list_of(step); list && !at.rest.empty()) {
      refuse(where,
             fmt::format("{} has no {} '{}'{}", step.estimator, list->field, at.head, nearest_element(step, at.head)));
    }
    param(step, path) = value;
  } else if (at.rest.empty()) {
    *nested = value;
  } else if (nested->is_null()) {
    refuse(where, fmt::format("'{}' is set, but {}'s {} is not given", path, step.estimator, at.head));
  } else {
    set_in_transformer(*nested, at.rest, value, where);
  }
}

}  // namespace kedge::engine
