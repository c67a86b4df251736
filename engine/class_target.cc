// Turns a column into class codes and names.
#include "engine/class_target.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

template <class S>
std::vector<double> column_values(std::span<const S> values, std::int64_t stride, std::int64_t column, std::int64_t n_rows) {
  std::vector<double> result(static_cast<std::size_t>(n_rows));
  for (std::int64_t i = 0; i < n_rows; ++i) {
    result[static_cast<std::size_t>(i)] = static_cast<double>(values[static_cast<std::size_t>(i * stride + column)]);
  }
  return result;
}

void require_classes(const ColumnInfo& column, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(!std::isnan(values[i]), ErrorCode::kBadData, "target '{}' is missing (NaN) in row {} (counted from 0)", column.name, i);
    require(std::isfinite(values[i]) && values[i] == std::floor(values[i]), ErrorCode::kBadData,
            "y is continuous: target '{}' is {} in row {} (counted from 0), a classifier needs classes: a nominal column or whole numbers",
            column.name, values[i], i);
  }
}

std::string class_name(const ColumnInfo& column, double value) {
  if (column.type == ColumnInfo::Type::kNominal) return column.categories.at(static_cast<std::size_t>(value));
  return fmt::format("{:.0f}", value + 0.0);   // -0 becomes 0
}

}  // namespace

ClassTarget encode_target(const ColumnInfo& column, const DatasetFile& data, std::int64_t n_rows) {
  require(column.values_column >= 0, ErrorCode::kBadData, "target '{}' is text, must be nominal or numeric", column.name);
  const std::int64_t stride = data.meta().n_values_columns;
  const std::vector<double> values = data.meta().is_float32
                                         ? column_values(data.values_f32(), stride, column.values_column, n_rows)
                                         : column_values(data.values_f64(), stride, column.values_column, n_rows);
  require_classes(column, values);
  std::vector<double> distinct = values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  ClassTarget target;
  for (double value : distinct) target.classes.push_back(class_name(column, value));
  require(distinct.size() > 1, ErrorCode::kBadData, "target '{}' has one class only, '{}', in the {} selected rows; a classifier needs two",
          column.name, target.classes.front(), n_rows);
  for (double value : values) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), value);
    target.codes.push_back(static_cast<std::int32_t>(at - distinct.begin()));
  }
  return target;
}

}  // namespace kedge::engine
