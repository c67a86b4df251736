// The rows that select.where, dropna, dropDuplicates and sample leave, as a data set of their own. What runs a job sees
// only those.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/core/dataset_file.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// Whether the selection asks for other rows than the first ones.
bool filters_rows(const schema::Select& select);

// Names what the rows depend on: equal texts mean equal rows of the same data set.
std::string row_filter_key(const schema::Select& select);

// Throws kInvalidValue for what no data set could answer.
void check_row_filter(const schema::Select& select);

// Positions of the rows that are left, in their order: rows that meet all conditions; of these, with dropna, those
// without a missing cell in the columns of the selection (all, where it names none); with dropDuplicates the first of
// those whose cells there are equal; then `sample` rows at random, as pandas' sample(n, random_state) draws them. Cells
// are those of select.types and naValues; as in pandas a missing cell differs from everything. Errors: kInvalidValue
// for an unknown column, a comparison that its type does not have, or a sample of more than there are; kBadData where
// none is left; kCancelled.
std::vector<std::int64_t> filtered_rows(const schema::Select& select, const DatasetFile& data);

// Writes these rows, all columns as they are stored. Errors: as filtered_rows(); those of the disk.
void write_filtered_rows(const schema::Select& select, const DatasetFile& data, const std::filesystem::path& output);

}   // namespace kedge::engine
