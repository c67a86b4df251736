// What a job fits and how its rows count, read from the columns of its data set: target, sample weights, groups.
#pragma once

#include <cstdint>
#include <string>

#include "engine/core/dataset_file.h"
#include "engine/model_selection/task_data.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// Target of the first n_rows rows as `kind` wants it, in `outputs` where select.targets names several columns, and the
// columns select.weights and select.groups. Classes: of a nominal column its categories that occur, in declared order;
// of a numeric column its distinct values, ascending, which must be integral; their names have no decimals. Errors:
// kBadData for a text column, a missing cell, values that are not integral ("y is continuous"), a single class, a
// nominal target where values are wanted, weights that are negative or all zero, and for no target column at all
// (`owner` needs one), at "select.target". `typed`: the columns as typed_meta() made them; null: as the file has them.
TaskTarget read_target(const schema::Select& select, const DatasetFile& data, std::int64_t n_rows, TargetKind kind,
                       const std::string& owner, const DatasetMeta* typed = nullptr);

}  // namespace kedge::engine
