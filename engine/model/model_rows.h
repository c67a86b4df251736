// Rows for a stored model: columns of any source, matched to the model's, their categories turned into the model's codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/dataset_file.h"
#include "engine/estimators/samples.h"
#include "schemas/model.h"

namespace kedge::engine {

// Rows x model columns, row-major. A category is its code in `features`, which are the model's columns with the categories that the
// model does not know behind those that it knows; a missing cell is NaN.
struct ModelRows {
  std::int64_t n_rows = 0;
  std::vector<double> values;
  std::vector<Feature> features;
};

// Fills ModelRows cell by cell. Borrows the model's description. Errors: kBadData, naming the column and the row (counted from 0).
class ModelRowsBuilder {
 public:
  // `names`: the columns of the source, matched by name; other columns are left out. Empty: its columns are the model's, in order.
  // Errors: a column of the model that is missing, with the nearest name there is; `n_columns` other than the model's.
  ModelRowsBuilder(const schema::ModelInfo& model, const std::vector<std::string>& names, std::size_t n_columns);

  // The model's column that a column of the source is, or -1.
  int target_of(std::size_t source_column) const { return target_[source_column]; }
  // Before the first row: how many follow, and the number of the first in messages.
  void expect(std::int64_t n_rows, std::int64_t first_row = 0);
  void add_row();   // all missing; the next cells are its
  void set(int column, double value);
  void set(int column, std::string_view text);   // empty: missing
  void set_missing(int) {}
  ModelRows finish();

 private:
  struct Column {
    std::unordered_map<std::string, double> codes;   // of a category
    bool is_category = false;
  };
  [[noreturn]] void refuse(int column, const std::string& problem) const;

  const schema::ModelInfo& model_;
  std::vector<int> target_;   // by column of the source
  std::vector<Column> columns_;
  ModelRows rows_;
  std::int64_t first_row_ = 0;
};

// A request's body as rows. type: "application/json" ({"columns": [...], "rows": [[...]]}, {"rows": [{...}]} or a list of rows), "text/csv" (a
// header line, then rows; "text/csv; header=absent" for none) or "application/x-npy" (two-dimensional, of numbers). Errors: kMalformed for what is not
// of that type, kUnsupportedMediaType, and those of ModelRowsBuilder.
ModelRows rows_of_body(const schema::ModelInfo& model, std::string_view type, std::string_view body);

// Rows of a data set for a model, a few at a time. Borrows both. Errors: those of ModelRowsBuilder.
class DatasetRows {
 public:
  // Of a sparse data set the columns of the first n_rows rows are held.
  DatasetRows(const schema::ModelInfo& model, const DatasetFile& data, std::int64_t n_rows);
  ModelRows rows(std::int64_t first, std::int64_t count) const;   // first .. first + count - 1

 private:
  double cell(std::size_t column, std::int64_t row) const;

  const schema::ModelInfo& model_;
  const DatasetFile& data_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> sparse_;   // by column
};

}  // namespace kedge::engine
