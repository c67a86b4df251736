// Resolves parameter paths against the steps of a pipeline.
#include "engine/param_path.h"

#include <algorithm>
#include <optional>

#include "engine/estimators/nested_params.h"
#include "engine/refuse.h"
#include "engine/step_traits.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;

// A pipeline whose steps can be found by name; a step that was passed through is gone.
struct NamedSteps {
  std::vector<std::string> names;
  std::vector<std::optional<schema::Step>> steps;

  std::optional<schema::Step>& at(std::string_view name, const std::string& where) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      refuse(where, fmt::format("the pipeline has no step '{}'{}", name, suggestion(name, names)));
    }
    return steps[static_cast<std::size_t>(found - names.begin())];
  }
};

schema::Step step_of(const Value& value, const std::string& name, const std::string& where) {
  const auto* map = std::get_if<ValueMap>(&value.data);
  schema::Step step{.name = name};
  if (!map) refuse(where, fmt::format("step '{}' is {}, must be an object with `estimator`, or \"passthrough\"", name, schema::to_string(value)));
  for (const auto& [key, member] : *map) {
    const auto* text = std::get_if<std::string>(&member.data);
    const auto* params = std::get_if<ValueMap>(&member.data);
    if (key == "estimator" && text) step.estimator = *text;
    else if (key == "params" && params) step.params = *params;
    else refuse(where + "." + key, fmt::format("a step has no '{}' like this, it has a text `estimator` and an object `params`", key));
  }
  return step;
}

// A pipeline of one step is that estimator: its parameters need no step name.
ValueMap with_step_names(const std::vector<std::string>& names, ValueMap candidate) {
  if (names.size() != 1) return candidate;
  for (auto& [path, value] : candidate) {
    const bool is_named = path == names[0] || path.starts_with(names[0] + "__");
    if (!is_named) path = names[0] + "__" + path;
  }
  return candidate;
}

}  // namespace

std::vector<schema::Step> with_params(const std::vector<schema::Step>& steps, const ValueMap& given, const std::string& where) {
  NamedSteps named{.names = path_names(steps), .steps = {steps.begin(), steps.end()}};
  const ValueMap candidate = with_step_names(named.names, given);
  for (const auto& [path, value] : candidate) {
    if (path.find("__") != std::string::npos) continue;
    const std::string here = where + "." + path;
    std::optional<schema::Step>& step = named.at(path, here);
    const auto* text = std::get_if<std::string>(&value.data);
    if (text && *text == "passthrough") step.reset();
    else step = step_of(value, path, here);
  }
  for (const auto& [path, value] : candidate) {
    const std::size_t cut = path.find("__");
    if (cut == std::string::npos) continue;
    const std::string here = where + "." + path;
    std::optional<schema::Step>& step = named.at(std::string_view(path).substr(0, cut), here);
    if (!step) refuse(here, fmt::format("step '{}' is passed through in this candidate", path.substr(0, cut)));
    set_nested_param(*step, std::string_view(path).substr(cut + 2), value, here);
  }
  std::vector<schema::Step> result;
  for (std::optional<schema::Step>& step : named.steps)
    if (step) result.push_back(std::move(*step));
  if (result.empty()) refuse(where, "the candidate passes all steps through, one must be left");
  return result;
}

}  // namespace kedge::engine
