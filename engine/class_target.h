// The target column of a classification job as class codes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

struct ClassTarget {
  std::vector<std::int32_t> codes;     // one per row
  std::vector<std::string> classes;    // names of the classes that occur, in code order
};

// Classes of the first n_rows rows. A nominal column: its categories that occur, in declared order. A numeric column: its distinct
// values, ascending, which must be integral; their names have no decimals. Errors: kBadData for a text column, a missing cell,
// values that are not integral ("y is continuous") and a single class.
ClassTarget encode_target(const ColumnInfo& column, const DatasetFile& data, std::int64_t n_rows);

}  // namespace kedge::engine
