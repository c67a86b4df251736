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

// What the first step of a pipeline takes in addition to finite numbers: see Estimator.
struct Accepted {
  bool nan = false, categories = false;
  friend bool operator==(const Accepted&, const Accepted&) = default;
};

// Where the values of a feature come from.
struct FeatureSource {
  CellMapRef cells;             // what its stored values become
  std::string type, column;     // ColumnInfo::type_name and ::source
  friend bool operator==(const FeatureSource&, const FeatureSource&) = default;
};

// The feature part of a selection, checked against the data set. A value.
struct Selection {
  std::int64_t n_rows = 0;
  std::vector<std::int64_t> columns;      // positions in the data set's value matrix
  std::vector<Feature> features;          // the columns' names and categories
  std::vector<FeatureSource> sources;     // how their values are read
  std::vector<std::string> left_out;      // text columns that the job does not name
  Accepted accepted;
  bool is_float32 = false;                // dtype to compute in
  double scale = 1;
  std::int64_t n_cols() const { return static_cast<std::int64_t>(columns.size()); }
  friend bool operator==(const Selection&, const Selection&) = default;
};

// Without select.columns: every column but the target, the weights, the groups and the ignored ones. dtype:
// select.dtype, otherwise float32 if the file holds float32 and at least 2^20 values are selected (images), otherwise
// float64. Errors, with the path in `select`: kInvalidValue for an unknown column or target (nearest name) or more rows
// than there are; kBadData for a text column among the named features, for a nominal one where categories are not
// accepted, and for no columns. Text columns that the job does not name are an error too, unless categories are
// accepted: then they are left out. `data`, if given, is searched for a cell that a message about a column names.
Selection select_features(const schema::Select& select, const DatasetMeta& meta, Accepted accepted = {}, const DatasetFile* data = nullptr);

// Whether the reference or its source (built-in sets, OpenML) names the target. Otherwise it is the last column.
bool names_target(const schema::DatasetRef& ref);

// Errors: kInvalidValue at `path` for an unknown name, with the nearest one.
const ColumnInfo& find_column(const DatasetMeta& meta, const std::string& name, const std::string& path);

// The columns of the target: those of select.targets, or the one that select.target or the data set names; none if
// nothing names one. Errors: kInvalidValue for an unknown name.
std::vector<const ColumnInfo*> find_targets(const schema::Select& select, const DatasetMeta& meta);

// Whether a column is a target by its name, known or not.
bool is_target(const schema::Select& select, const DatasetMeta& meta, const std::string& name);

// The selected values as T, on the device: numbers times the scale, categories as their codes. Errors: kBadData naming row and
// column of the first value that is infinite, too large for T, or missing where that is not accepted; kOutOfMemory; kCancelled.
// A sparse data set gives a sparse table. Errors as well: kDatasetCorrupt.
template <class T>
std::shared_ptr<Table<T>> load_table(const Context& ctx, const Selection& selection, const DatasetFile& data);

// The same for a sparse data set alone.
template <class T>
std::shared_ptr<Table<T>> load_sparse_table(const Context& ctx, const Selection& selection, const DatasetFile& data);

}  // namespace kedge::engine
