// The rules of a job description: everything that can be checked without data or device.
#pragma once

#include <vector>

#include "engine/job/check_budget.h"
#include "engine/job/step_traits.h"
#include "engine/metrics/scorers.h"
#include "engine/model_selection/param_grid.h"
#include "schemas/job.h"

namespace kedge::engine {

// A job whose description keeps all rules. Pointers are to static lists.
struct CheckedJob {
  schema::JobSpec spec;
  std::vector<StepTraits> steps;                   // of spec.pipeline; none for a task with a stored model
  Candidates candidates = {};                      // of a search, in scikit-learn's order: with_params() makes their pipelines
  std::vector<const Scorer*> scorers;              // accuracy or r2 where none was named; empty for a fit
  TargetKind target_kind = TargetKind::kNone;      // of all pipelines
  const StepTraits& last() const { return steps.back(); }
};

// The parts of a job that say what it reads. Errors: as check_job().
void check_dataset(const schema::DatasetRef& dataset, const schema::Select& select);

// Of the steps of a pipeline, those inside others included: each is compiled where it is checked.
inline constexpr std::size_t kMostPatterns = 1000;

// Errors: the first broken rule, with the field's path from the root of the spec; kInvalidValue for what takes more than its bounds
// (CheckBudget, and those of candidate_check.h); kCancelled when the budget is stopped. Cost: microseconds, and for each candidate of a
// search as many for the steps that it changes, each form of a step once.
CheckedJob check_job(const schema::JobSpec& spec, const CheckBudget& budget = {});

// About how many bytes check_job() reads: the description, and its pipeline again for each candidate of a search. For
// callers that decide beforehand whether a check takes long. Works on jobs that were not checked.
std::size_t check_size(const schema::JobSpec& spec);

}  // namespace kedge::engine
