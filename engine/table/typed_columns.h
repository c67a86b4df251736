// How select.naValues, select.keepDefaultNa and select.types change the columns of a data set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dataset_file.h"
#include "engine/core/stop.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// Says in words what a type may be; select.types is checked by it. False for what is none.
bool is_column_type(const std::string& type);
inline constexpr const char* kColumnTypes =
    "\"number\", \"category\", \"date\", \"date:parts\" (with the day or month first \"date:dmy\", \"date:mdy:parts\"), \"drop\"";

// The metadata as the job reads them, or nothing where they are as the file has them. Missing texts leave a nominal
// column; what is then all numbers is numeric; types make it what they say; a date in parts becomes four columns,
// NAME_year to NAME_weekday. In the target and the groups only naValues are missing: a class may be named "None". A
// target that no column is called, and that is a condition ("age >= 30"), becomes a numeric column of that name: 1
// where it is met, 0 where not, missing where the cell is (but for isna and notna); the column that it reads is a
// feature only where select.columns names it. ColumnInfo::missing is still the file's. Cost: one pass over the
// categories, over the rows for numbers that become categories. Errors: kInvalidValue at select.types.NAME for an
// unknown column, kBadData with the first cell and row of a text that is no number or date.
std::optional<DatasetMeta> typed_meta(const schema::Select& select, const DatasetFile& data);

inline constexpr std::int64_t kRowsBetweenStops = std::int64_t{1}
                                                  << 18;   // between two looks whether the job is cancelled

// The stored values of one column, row by row: where they lie, or a copy where the data set is sparse. Borrows the data set.
class StoredColumn {
 public:
  StoredColumn(const DatasetFile& data, const ColumnInfo& column, std::int64_t n_rows)
      : data_(data), place_(column.values_column), stride_(data.meta().n_values_columns) {
    if (data.meta().is_sparse()) copy_ = data.column(place_, n_rows);
  }
  double at(std::int64_t row) const {
    if (data_.meta().is_sparse()) return copy_[static_cast<std::size_t>(row)];
    const auto cell = static_cast<std::size_t>(row * stride_ + place_);
    return data_.meta().is_float32 ? static_cast<double>(data_.values_f32()[cell]) : data_.values_f64()[cell];
  }

 private:
  const DatasetFile& data_;
  std::int64_t place_, stride_;
  std::vector<double> copy_;
};

// The first row, counted from 0, whose cell in this nominal column is a category that `wanted` accepts; its text and the number of
// such cells.
struct FoundCell {
  std::int64_t row = 0, cells = 0;
  std::string text;
};
template <class Wanted>
std::optional<FoundCell> find_cell(const DatasetFile& data, const ColumnInfo& column, const Wanted& wanted) {
  std::vector<char> is_wanted;
  for (const std::string& category : column.categories) is_wanted.push_back(wanted(category));
  std::optional<FoundCell> found;
  const StoredColumn stored(data, column, data.meta().n_rows);
  for (std::int64_t i = 0; i < data.meta().n_rows; ++i) {
    if (i % kRowsBetweenStops == 0) check_job_stop();
    const double code = stored.at(i);
    const bool is_category = code >= 0 && code < static_cast<double>(is_wanted.size());
    if (!is_category || !is_wanted[static_cast<std::size_t>(code)]) continue;
    if (!found) found = FoundCell{i, 0, column.categories[static_cast<std::size_t>(code)]};
    ++found->cells;
  }
  return found;
}

// The column that select.target reads: itself, or that of its condition.
std::string column_of_target(const std::string& target);

// What a message says to write in a job, as JSON: "select": {"types": {"NAME": "drop"}}, and "naValues": ["unknown",
// "-"].
std::string types_words(std::string_view column, std::string_view type);
std::string na_words(const std::vector<std::string>& texts);

// A number as the name of a category: whole numbers without decimals.
std::string category_name(double value);

// At most `most` characters, with dots behind a cut, and quotes around: for messages.
std::string shown_text(std::string_view text, std::size_t most = 40);

}  // namespace kedge::engine
