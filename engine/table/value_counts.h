// Whether a table's columns have few distinct values, found from the data file before anything is computed.
#pragma once

#include <optional>

#include "engine/core/dataset_file.h"
#include "engine/table/selection.h"

namespace kedge::engine {

// Whether none of the selected columns has more than 256 distinct values in the selected rows, so that bytes can stand for them.
// Nothing for sparse data. Cost: one pass over the file where that is so, far less where a column has many.
std::optional<bool> have_few_values(const DatasetFile& data, const Selection& selection);

}   // namespace kedge::engine
