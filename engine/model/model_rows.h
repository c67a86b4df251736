// Rows for a stored model: columns of any source, matched to the model's, their categories turned into the model's codes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/core/dataset_file.h"
#include "engine/core/dates.h"
#include "engine/estimators/samples.h"
#include "schemas/model.h"

namespace kedge::engine {

// Rows x model columns, row-major. A category is its code in `features`, which are the model's columns with the categories that the
// model does not know behind those that it knows; a missing cell is NaN.
struct ModelRows {
  std::int64_t n_rows = 0;
  std::vector<double> values;
  std::vector<Feature> features;
  std::shared_ptr<const ModelRows> background = {};   // of contributions: what they are counted against, or null
};

inline constexpr std::int64_t kMostBackground = 1000;   // rows

// Runs what works on background rows; its errors say so.
template <class Work>
void of_background(const Work& work) {
  try {
    work();
  } catch (const schema::Error& error) {
    throw schema::Error(error.code, "background: " + error.message, "background");
  }
}

// Fills ModelRows cell by cell. Borrows the model's description. Errors: kBadData, naming the column and the row (counted from 0).
class ModelRowsBuilder {
 public:
  // `names`: the columns of the source, matched by name; other columns are left out. Empty: its columns are the model's, in order.
  // Errors: a column of the model that is missing, with the nearest name there is; `n_columns` other than the model's.
  ModelRowsBuilder(const schema::ModelInfo& model, const std::vector<std::string>& names, std::size_t n_columns);

  // Whether the model reads a column of the source.
  bool reads(std::size_t source_column) const { return !targets_[source_column].empty(); }
  // Before the first row: how many follow, and the number of the first in messages.
  void expect(std::int64_t n_rows, std::int64_t first_row = 0);
  void add_row();   // all missing; the next cells are its
  // A cell of a column of the source. A number is one, the name of a category, or a date as days since 1970-01-01; a text is what a
  // CSV file would say: missing where it is in the model's naValues, or usually stands for that and is no category.
  void set(std::size_t source_column, double value);
  void set(std::size_t source_column, std::string_view text);
  ModelRows finish();

 private:
  struct Column {
    std::unordered_map<std::string, double> codes;   // of a category
    bool is_category = false, is_text = false;       // a text is a category that is new each time
    std::optional<DateType> date;                    // of a column of dates
  };
  [[noreturn]] void refuse(std::size_t column, const std::string& problem) const;
  void put(std::size_t column, double value);
  void put_number(std::size_t column, double value);
  bool is_na(std::string_view text) const;   // by the model's naValues
  void put_text(std::size_t column, std::string_view text);
  void put_category(std::size_t column, std::string_view text);

  const schema::ModelInfo& model_;
  std::vector<std::vector<std::size_t>> targets_;   // by column of the source: the model's columns that it becomes
  std::unordered_set<std::string> na_values_;
  std::vector<double> na_numbers_;
  std::vector<Column> columns_;
  ModelRows rows_;
  std::int64_t first_row_ = 0;
};

// A request's body as rows. type: "application/json" ({"columns": [...], "rows": [[...]]}, {"rows": [{...}]} or a list;
// "background" beside "rows" has 1 to kMostBackground others; either may be a CSV text, or an object with columns and
// rows), "text/csv" (a header line, then rows; "text/csv; header=absent": none) or "application/x-npy"
// (two-dimensional). Errors: kMalformed for what is not of that type, kUnsupportedMediaType, and those of
// ModelRowsBuilder.
ModelRows rows_of_body(const schema::ModelInfo& model, std::string_view type, std::string_view body);

// Rows of a data set for a model, a few at a time. Borrows both. Errors: those of ModelRowsBuilder.
class DatasetRows {
 public:
  // Rows begin .. end - 1. Of a sparse data set their cells are held, of any other nothing: the file is mapped.
  DatasetRows(const schema::ModelInfo& model, const DatasetFile& data, std::int64_t end, std::int64_t begin = 0);
  ModelRows rows(std::int64_t first, std::int64_t count) const;   // first .. first + count - 1 of these

 private:
  double cell(std::size_t column, std::int64_t row) const;

  const schema::ModelInfo& model_;
  const DatasetFile& data_;
  std::vector<std::string> names_;
  std::int64_t begin_;
  std::vector<std::vector<double>> sparse_;   // by column, from row begin_ on
};

}  // namespace kedge::engine
