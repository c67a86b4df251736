// The rules of a job description: everything that can be checked without data or device.
#pragma once

#include <vector>

#include "engine/metrics/scorers.h"
#include "engine/step_traits.h"
#include "schemas/job.h"

namespace kedge::engine {

// A job whose description keeps all rules. Pointers are to static lists.
struct CheckedJob {
  schema::JobSpec spec;
  std::vector<StepTraits> steps;                   // of spec.pipeline; none for a task with a stored model
  std::vector<std::vector<schema::Step>> candidates = {};   // pipelines of a grid or randomized search, in scikit-learn's order
  std::vector<schema::ValueMap> candidate_params = {};      // what makes each of them, as in cv_results_["params"]
  std::vector<const Scorer*> scorers;              // accuracy or r2 where none was named; empty for a fit
  TargetKind target_kind = TargetKind::kNone;      // of all pipelines
  const StepTraits& last() const { return steps.back(); }
};

// Errors: the first broken rule, with the field's path from the root of the spec. Cost: microseconds, and as many for each candidate
// of a search.
CheckedJob check_job(const schema::JobSpec& spec);

}  // namespace kedge::engine
