// The rules of jobs with several target columns: select.targets.
#pragma once

#include <string>
#include <vector>

#include "engine/job/step_traits.h"
#include "schemas/job.h"

namespace kedge::engine {

// The list of names. Errors: kInvalidValue at select.targets.
void check_targets(const schema::Select& select);

// Whether a pipeline of these steps fits what the job selects: several columns or one. Errors: kInvalidValue at
// `where`.
void check_targets(const std::vector<StepTraits>& steps, const schema::Select& select, const std::string& where);

// Whether the task takes several target columns, if there are. Errors: kInvalidValue.
void check_task_of_targets(const schema::JobSpec& spec);

}   // namespace kedge::engine
