// The final table of a job: scores by fold, and where the time went.
#pragma once

#include <string>

#include "client/cli/terminal.h"
#include "schemas/job.h"

namespace kedge::cli {

std::string result_table(const schema::Result& result, const Page& page = {});

}  // namespace kedge::cli
