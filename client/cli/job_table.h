// The list of jobs as a table.
#pragma once

#include <string>
#include <vector>

#include "client/cli/terminal.h"
#include "schemas/job.h"

namespace kedge::cli {

// State, data and pipeline, score and time of each; of a failed one why and the code; on a wide page also the score's name and when it was submitted.
// now: seconds since 1970.
std::string jobs_table(const std::vector<schema::Job>& jobs, const Page& page, double now);

}   // namespace kedge::cli
