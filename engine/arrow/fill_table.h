// Fills the values of a data set from a Parquet or Arrow file, on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/arrow/table_source.h"
#include "engine/core/dataset_file.h"

namespace kedge::engine {

// Columns, types and rows; of columns that are not kept (ColumnInfo::Type::kString) the name alone. Each other one has
// its place in the values.
DatasetMeta columns_of(const TableSource& source);

using ReportPart = std::function<void(std::int64_t done, std::int64_t total)>;   // never two calls at once

// Completes the categories of meta, sorted, and its missing cells. False, for float alone: a number is not exact in T,
// and neither values nor meta mean anything. Errors: kDatasetCorrupt; kBadData for more categories than a code can
// name.
template <class T>
bool fill_table(const TableSource& source, DatasetMeta& meta, std::span<T> values, int threads,
                const ReportPart& report);

}   // namespace kedge::engine
