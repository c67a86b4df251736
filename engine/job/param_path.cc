// Resolves parameter paths against the steps of a pipeline.
#include "engine/job/param_path.h"

#include <algorithm>

#include "engine/estimators/composition/nested.h"
#include "engine/estimators/composition/nested_params.h"
#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;

// A pipeline whose steps can be found by name, and are copied when they are changed; a step that was passed through is null.
class NamedSteps {
 public:
  explicit NamedSteps(const SharedSteps& steps) : names_(step_names(steps)), steps_(steps), own_(steps.size()) {}

  const std::vector<std::string>& names() const { return names_; }
  std::size_t place(std::string_view name, const std::string& where) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) refuse(where, fmt::format("the pipeline has no step '{}'{}", name, suggestion(name, names_)));
    return static_cast<std::size_t>(found - names_.begin());
  }
  bool is_there(std::size_t place) const { return steps_[place] != nullptr; }
  void replace(std::size_t place, schema::Step step) { steps_[place] = own_[place] = std::make_shared<schema::Step>(std::move(step)); }
  void pass_through(std::size_t place) { steps_[place] = own_[place] = nullptr; }
  schema::Step& changed(std::size_t place) {
    if (!own_[place]) replace(place, *steps_[place]);
    return *own_[place];
  }
  SharedSteps take() { return std::move(steps_); }

 private:
  std::vector<std::string> names_;
  SharedSteps steps_;
  std::vector<std::shared_ptr<schema::Step>> own_;   // those of steps_ that were made here
};

schema::Step replacement(const Value& value, const std::string& name, const std::string& where) {
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

SharedSteps with_params_in_place(const SharedSteps& steps, const ValueMap& given, const std::string& where) {
  NamedSteps named(steps);
  const ValueMap candidate = with_step_names(named.names(), given);
  for (const auto& [path, value] : candidate) {
    if (path.find("__") != std::string::npos) continue;
    const std::string here = where + "." + path;
    const std::size_t place = named.place(path, here);
    const auto* text = std::get_if<std::string>(&value.data);
    if (text && *text == "passthrough") named.pass_through(place);
    else named.replace(place, replacement(value, path, here));
  }
  for (const auto& [path, value] : candidate) {
    const std::size_t cut = path.find("__");
    if (cut == std::string::npos) continue;
    const std::string here = where + "." + path;
    const std::size_t place = named.place(std::string_view(path).substr(0, cut), here);
    if (!named.is_there(place)) refuse(here, fmt::format("step '{}' is passed through in this candidate", path.substr(0, cut)));
    set_nested_param(named.changed(place), std::string_view(path).substr(cut + 2), value, here);
  }
  SharedSteps changed = named.take();
  const bool is_empty = std::all_of(changed.begin(), changed.end(), [](const auto& step) { return !step; });
  if (is_empty) refuse(where, "the candidate passes all steps through, one must be left");
  return changed;
}

SharedSteps with_params(const SharedSteps& steps, const ValueMap& candidate, const std::string& where) {
  SharedSteps changed = with_params_in_place(steps, candidate, where);
  std::erase(changed, nullptr);
  return changed;
}

std::optional<std::size_t> step_of_path(const std::vector<std::string>& names, std::string_view path) {
  if (names.size() == 1) return 0;   // it needs no name
  const auto found = std::find(names.begin(), names.end(), path.substr(0, path.find("__")));
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace kedge::engine
