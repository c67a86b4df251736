// The rules of a job's task: splits, scorers, and the candidates of a search.
#pragma once

#include "engine/job/job_check.h"

namespace kedge::engine {

// Checks job.spec.task and fills in what depends on it: scorers, candidates, target_kind. job.steps must be there.
void check_task(CheckedJob& job, const CheckClock& clock);

// A task with a stored model: model, output, format, and that nothing is chosen that the model has chosen. Errors: kInvalidValue.
void check_model_task(const schema::JobSpec& spec);

}  // namespace kedge::engine
