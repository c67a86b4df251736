// From Arrow's columns to the row-major cells of a data set: numbers as they are, texts as codes of categories.
#pragma once

#include <arrow/api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

// What becomes of a column of this type: kNumeric, kNominal, or kString for one that keeps its name alone (lists,
// structs, bytes). Booleans are 0 and 1, dates and timestamps days since 1970-01-01 with the time as a fraction, times
// of day and durations seconds.
ColumnInfo::Type column_type(const arrow::DataType& type);

// The texts of one column in one part of the table, by their codes.
struct LocalCategories {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> codes;   // in order of appearance
  std::int64_t first_row = 0, n_rows = 0;                                       // of the part
  std::int64_t missing = 0;

  std::int32_t code_of(std::string_view text);
};

// The matrix that is filled. Borrows it.
template <class T>
struct CellMatrix {
  std::span<T> values;
  std::int64_t width = 0;
};

// Columns of one batch of rows: arrays[i] goes to columns[i] of the matrix, whose texts are counted in found[i]. Sets
// `is_inexact` when a number does not fit T. Errors: kDatasetCorrupt for what no writer of such a file makes.
template <class T>
void write_cells(CellMatrix<T> matrix, std::int64_t first_row, std::span<const std::int64_t> columns,
                 std::span<const std::shared_ptr<arrow::Array>> arrays, std::span<LocalCategories> found,
                 std::atomic<bool>& is_inexact);

}   // namespace kedge::engine
