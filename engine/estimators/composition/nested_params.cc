// Finds the place that a parameter path names, and puts a value there.
#include "engine/estimators/composition/nested_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

// The list of named transformers of a step, if it may have one.
const char* list_of(const schema::Step& step) {
  if (step.estimator == "ColumnTransformer") return "transformers";
  return step.estimator == "FeatureUnion" ? "transformer_list" : nullptr;
}

// The name and the transformer of an element, whether it is an object or a list; null if it is neither.
struct Element {
  const std::string* name = nullptr;
  Value* transformer = nullptr;
};

Element element_of(Value& value) {
  Element element;
  if (auto* tuple = std::get_if<ValueList>(&value.data); tuple && tuple->size() >= 2) {
    element = {std::get_if<std::string>(&(*tuple)[0].data), &(*tuple)[1]};
  } else if (auto* map = std::get_if<ValueMap>(&value.data)) {
    for (auto& [key, content] : *map) {
      if (key == "name") element.name = std::get_if<std::string>(&content.data);
      if (key == "transformer") element.transformer = &content;
    }
  }
  return element.name && element.transformer ? element : Element{};
}

// The transformer of that name; null if the step has none.
Value* find_transformer(schema::Step& step, std::string_view name) {
  const char* list_name = list_of(step);
  if (!list_name) return nullptr;
  auto* list = std::get_if<ValueList>(&param(step, list_name).data);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const Element element = element_of((*list)[i]);
    if (element.name && *element.name == name) return element.transformer;
  }
  if (name == "remainder" && step.estimator == "ColumnTransformer") return &param(step, "remainder");
  return nullptr;
}

std::string nearest_transformer(schema::Step& step, std::string_view name) {
  std::vector<std::string_view> names;
  auto* list = std::get_if<ValueList>(&param(step, list_of(step)).data);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    if (const Element element = element_of((*list)[i]); element.name) names.push_back(*element.name);
  }
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
  Value* const transformer = find_transformer(step, at.head);
  if (!transformer) {
    if (list_of(step) && !at.rest.empty()) {
      refuse(where, fmt::format("{} has no transformer '{}'{}", step.estimator, at.head, nearest_transformer(step, at.head)));
    }
    param(step, path) = value;
  } else if (at.rest.empty()) {
    *transformer = value;
  } else {
    set_in_transformer(*transformer, at.rest, value, where);
  }
}

}  // namespace kedge::engine
