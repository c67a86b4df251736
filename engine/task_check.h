// The rules of a job's task: splits, scorers, and the candidates of a search.
#pragma once

#include "engine/job_check.h"

namespace kedge::engine {

// Checks job.spec.task and fills in what depends on it: scorers, candidates, target_kind. job.steps must be there.
void check_task(CheckedJob& job);

}  // namespace kedge::engine
