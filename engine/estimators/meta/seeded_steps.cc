// Sets random_state in a step as the user wrote it.
#include "engine/estimators/meta/seeded_steps.h"

#include <algorithm>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/nested.h"

namespace kedge::engine {

bool takes_random_state(const schema::Value& step) {
  if (!std::holds_alternative<schema::ValueMap>(step.data)) return false;
  const CatalogueEntry* const entry = find_estimator(step_of(step, "params.estimator").estimator);
  return entry && std::ranges::any_of(entry->info.params,
                                      [](const schema::ParamInfo& param) { return param.name == "random_state"; });
}

schema::Value with_random_state(const schema::Value& value, std::int64_t random_state) {
  schema::Step step = step_of(value, "params.estimator");
  std::erase_if(step.params, [](const auto& param) { return param.first == "random_state"; });
  step.params.emplace_back("random_state", random_state);
  return value_of(step);
}

}   // namespace kedge::engine
