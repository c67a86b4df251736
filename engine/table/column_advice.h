// What to write in a job so that a nominal column becomes what a step needs.
#pragma once

#include <string>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

// Of a nominal column of the file: its first cell that is no number, with its row, and the words for select.naValues, select.types
// or a step that takes categories. "'unknown' in row 17 (counted from 0) is no number, one of 812 such cells; ..."
std::string nominal_advice(const ColumnInfo& column, const DatasetFile& data);

// Whether a guessed nominal column is mostly something else: numbers except for a few texts, or dates. Such a column is
// rarely meant as categories.
bool is_nominal_by_accident(const ColumnInfo& column);

// The column of the file that a column of a job was made of.
const ColumnInfo* file_column(const std::string& name, const DatasetMeta& meta);

}  // namespace kedge::engine
