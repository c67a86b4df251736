// Curves, permutation tests and importances of a result, as tables.
#pragma once

#include <string>

#include "client/cli/text_table.h"
#include "schemas/job.h"

namespace kedge::cli {

// Nothing for a result without them. Partial dependences are for plots: only their columns are named.
std::string evaluation_table(const schema::ValueMap& evaluation, const Page& page);

}   // namespace kedge::cli
