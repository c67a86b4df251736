// Pipelines of estimators, and what to do with them.
#pragma once

#include <concepts>
#include <vector>

#include "kedge/columns.h"
#include "kedge/param_grid.h"   // IWYU pragma: export
#include "kedge/tasks.h"        // IWYU pragma: export
#include "schemas/job.h"

namespace kedge {

template <class E>
concept EstimatorStruct = requires(const E& e) { { e.step() } -> std::same_as<schema::Step>; };

// The steps in order; all but the last transform.
template <EstimatorStruct... Steps>
std::vector<schema::Step> pipeline(const Steps&... steps) {
  return {steps.step()...};
}

// An estimator as a candidate for a step: {"model", {kedge::candidate(kedge::Ridge{}), kedge::candidate(kedge::Lasso{})}}.
template <EstimatorStruct E>
schema::Value candidate(const E& estimator) {
  return step_value(estimator.step());
}

// What to do with a pipeline: the structs of kedge/tasks.h.
template <class T>
concept TaskStruct = requires(const T& t) { { t.task() } -> std::same_as<schema::Task>; };

}  // namespace kedge
