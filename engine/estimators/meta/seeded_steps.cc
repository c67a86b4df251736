// Finds the estimators within a step as the user wrote it, by the names that scikit-learn gives their parameters.
#include "engine/estimators/meta/seeded_steps.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/nested.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr const char* kRandomState = "random_state";

// Where the random states of a value are, by their full names, in the order in which Python sorts these.
using Seeded = std::map<std::string, Value*>;

bool is_step(const Value& value) {
  const auto* const map = std::get_if<ValueMap>(&value.data);
  const Value* const name = map ? find_value(*map, "estimator") : nullptr;
  return name && std::holds_alternative<std::string>(name->data);
}

Value* member_of(ValueMap& map, std::string_view name) {
  const auto found = std::ranges::find(map, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == map.end() ? nullptr : &found->second;
}

void find_seeded(Value& value, const std::string& owner, const std::string& name, Seeded& found);

// Entries are added before those inside are looked for, which would move.
void find_in_step(ValueMap& step, const std::string& prefix, Seeded& found) {
  const CatalogueEntry* const entry = find_estimator(std::get<std::string>(find_value(step, "estimator")->data));
  if (!member_of(step, "params")) step.emplace_back("params", ValueMap{});
  auto* const params = std::get_if<ValueMap>(&member_of(step, "params")->data);
  if (!entry || !params) return;
  const bool has_seed =
      std::ranges::any_of(entry->info.params, [](const schema::ParamInfo& p) { return p.name == kRandomState; });
  if (has_seed && !member_of(*params, kRandomState)) params->emplace_back(kRandomState, Value());
  for (auto& [name, value] : *params) {
    if (name != kRandomState) find_seeded(value, prefix, name, found);
    else if (has_seed) found.emplace(prefix + kRandomState, &value);
  }
}

// {"name": "rf", "estimator": ...}, {"name": "num", "transformer": ...} or ["rf", ...].
void find_in_part(Value& part, const std::string& owner, Seeded& found) {
  Value *name = nullptr, *inside = nullptr;
  if (auto* const list = std::get_if<ValueList>(&part.data); list && list->size() >= 2) {
    name = &(*list)[0], inside = &(*list)[1];
  } else if (auto* const map = std::get_if<ValueMap>(&part.data)) {
    name = member_of(*map, "name"), inside = member_of(*map, "estimator");
    if (!inside) inside = member_of(*map, "transformer");
  }
  const auto* const text = name ? std::get_if<std::string>(&name->data) : nullptr;
  if (text && inside) find_seeded(*inside, owner, *text, found);
}

// The value of the parameter `name` of `owner`: a step has the names of both before its own, and so has a step of a
// list before the step's name; parts that have names have the owner's alone.
void find_seeded(Value& value, const std::string& owner, const std::string& name, Seeded& found) {
  const std::string prefix = name.empty() ? owner : owner + name + "__";
  if (is_step(value)) return find_in_step(std::get<ValueMap>(value.data), prefix, found);
  auto* const list = std::get_if<ValueList>(&value.data);
  if (!list) return;
  std::vector<ValueMap*> maps;
  std::vector<schema::Step> steps;
  for (Value& item : *list) {
    if (is_step(item))
      maps.push_back(&std::get<ValueMap>(item.data)), steps.push_back(step_of(item, "params.estimator"));
    else find_in_part(item, owner, found);
  }
  const std::vector<std::string> names = step_names(steps);
  for (std::size_t i = 0; i < maps.size(); ++i) find_in_step(*maps[i], prefix + names[i] + "__", found);
}

}   // namespace

Value with_random_states(const Value& predictor, LegacyRandom& random) {
  Value seeded = predictor;
  Seeded found;
  find_seeded(seeded, "", "", found);
  for (const auto& [name, state] : found) *state = static_cast<std::int64_t>(random.interval(kLargestStepSeed));
  return seeded;
}

}   // namespace kedge::engine
