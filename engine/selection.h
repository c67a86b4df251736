// Which rows and columns of a data set a job computes with, and how they get to the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/dataset_file.h"
#include "engine/estimators/samples.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// The feature part of a selection, checked against the data set. A value.
struct Selection {
  std::int64_t n_rows = 0;
  std::vector<std::int64_t> columns;      // positions in the data set's value matrix
  std::vector<std::string> names;         // of the columns
  bool is_float32 = false;                // dtype to compute in
  double scale = 1;
  std::int64_t n_cols() const { return static_cast<std::int64_t>(columns.size()); }
  friend bool operator==(const Selection&, const Selection&) = default;
};

// Without select.columns: every column but the target and the ignored ones. dtype: select.dtype, else float32 when the file holds
// float32 and the selection has at least 2^20 values (images), else float64. Errors, with the path in `select`: kInvalidValue for
// an unknown column or target (nearest name) or more rows than there are; kBadData for a nominal or text column among the
// features, and for no columns at all.
Selection select_features(const schema::Select& select, const DatasetMeta& meta);

// The column of the target, or null if neither the job nor the data set names one. Errors: kInvalidValue for an unknown name.
const ColumnInfo* find_target(const schema::Select& select, const DatasetMeta& meta);

// The selected values times the scale, as T, on the device. Errors: kBadData naming row and column of the first value that is
// missing, infinite or too large for T; kOutOfMemory; kCancelled.
template <class T>
std::shared_ptr<Table<T>> load_table(const Context& ctx, const Selection& selection, const DatasetFile& data);

}  // namespace kedge::engine
