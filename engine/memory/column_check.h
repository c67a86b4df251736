// Looks at which step reads which columns before anything is computed: columns of texts where numbers are needed, and columns of so many
// categories that their encoding is no longer small.
#pragma once

#include <string>

#include "engine/core/context.h"
#include "engine/core/dataset_file.h"
#include "engine/job/job_check.h"
#include "engine/table/selection.h"

namespace kedge::engine {

// Warns of nominal columns that look like numbers or dates, of steps that make very many columns of categories, naming
// the columns with their counts, and, where the task splits the rows, of categories so rare that an encoder may see one
// that it was not fitted with. Returns the message about very many columns, for a job that is refused because of
// memory; empty if there is none. Errors: kBadData, once for all candidates and folds, where a step needs numbers of
// nominal columns: each with its first text, its row and what to write, and the warnings behind. Cost: that of the
// memory plan, and a pass over each column that is named or encoded.
std::string check_columns(const Context& ctx, const CheckedJob& job, const Selection& selection, const DatasetFile& data);

}  // namespace kedge::engine
