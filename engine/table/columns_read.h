// The columns of a table that a job can need, for readers that take only some of a file.
#pragma once

#include <string>
#include <vector>

#include "schemas/dataset.h"

namespace kedge::engine {

// Names of the columns that a job with this selection reads beside the data set's own target, sorted: its features,
// target, weights and groups, and those that conditions and types name. Empty: any, as the selection names no features.
// Errors: those of parse_row_condition().
std::vector<std::string> columns_read(const schema::Select& select);

}   // namespace kedge::engine
