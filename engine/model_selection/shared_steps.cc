// Shares, copies and names the steps of pipelines.
#include "engine/model_selection/shared_steps.h"

#include <fmt/core.h>

#include <span>

#include "engine/core/content_hash.h"
#include "engine/estimators/composition/nested.h"

namespace kedge::engine {

SharedSteps shared_steps(const std::vector<schema::Step>& steps) {
  SharedSteps shared;
  for (const schema::Step& step : steps) shared.emplace_back(std::shared_ptr<void>(), &step);
  return shared;
}

std::vector<schema::Step> copied(const SharedSteps& shared) {
  std::vector<schema::Step> steps;
  for (const auto& step : shared) steps.push_back(*step);
  return steps;
}

std::vector<std::string> step_names(const SharedSteps& shared) {
  std::vector<const schema::Step*> steps;
  for (const auto& step : shared) steps.push_back(step.get());
  return step_names(steps);
}

std::string step_key(const schema::Step& step) {
  constexpr std::size_t kLongest = 1000;
  const std::string params = schema::to_string(step.params);
  if (params.size() <= kLongest) return step.estimator + params;
  return fmt::format("{} {} bytes {:016x}", step.estimator, params.size(), content_hash(std::as_bytes(std::span(params))));
}

}  // namespace kedge::engine
