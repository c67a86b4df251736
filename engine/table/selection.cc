// Chooses the feature columns of a job and its dtype.
#include "engine/table/selection.h"

#include <algorithm>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// From this many values on, float32 data are computed in float32: images rather than small tables.
constexpr std::int64_t kLargeTable = std::int64_t{1} << 20;
constexpr std::int64_t kMaxRows = 0x7fffffff;   // row numbers are 32 bits wide on the device

void require_usable(const ColumnInfo& column, const DatasetMeta& meta, Accepted accepted) {
  if (column.type == ColumnInfo::Type::kNumeric) return;
  const bool is_nominal = column.type == ColumnInfo::Type::kNominal;
  if (is_nominal && accepted.categories) return;
  const char* problem = is_nominal ? "nominal, a feature must be numeric or go through a step that takes categories (ColumnTransformer, "
                                     "OneHotEncoder, OrdinalEncoder)"
                                   : "text, a feature must be numeric or nominal";
  throw Error(ErrorCode::kBadData,
              fmt::format("{}: column '{}' is {}; name the columns to keep in select.columns, without it", meta.name, column.name, problem),
              "select.columns");
}

Feature feature_of(const ColumnInfo& column) {
  const bool is_nominal = column.type == ColumnInfo::Type::kNominal;
  return {column.name, is_nominal ? column.categories : std::vector<std::string>{}, is_nominal};
}

// What a column that cannot be a feature is used for, or null.
const char* other_role(const schema::Select& select, const ColumnInfo& column, const ColumnInfo* target) {
  if (&column == target) return "the target";
  if (select.weights == column.name) return "the weights";
  return select.groups == column.name ? "the groups" : nullptr;
}

std::vector<const ColumnInfo*> feature_columns(const schema::Select& select, const DatasetMeta& meta) {
  const ColumnInfo* target = find_target(select, meta);
  std::vector<const ColumnInfo*> chosen;
  for (std::size_t i = 0; i < select.columns.size(); ++i) {
    const std::string path = fmt::format("select.columns[{}]", i);
    const ColumnInfo& column = find_column(meta, select.columns[i], path);
    if (const char* role = other_role(select, column, target)) {
      throw Error(ErrorCode::kInvalidValue, fmt::format("column '{}' is {}, it cannot be a feature as well", column.name, role), path);
    }
    chosen.push_back(&column);
  }
  if (!select.columns.empty()) return chosen;
  for (const ColumnInfo& column : meta.columns) {
    const bool ignored = std::find(meta.ignored.begin(), meta.ignored.end(), column.name) != meta.ignored.end();
    if (!other_role(select, column, target) && !ignored) chosen.push_back(&column);
  }
  return chosen;
}

std::int64_t row_count(const schema::Select& select, const DatasetMeta& meta) {
  const std::int64_t n_rows = select.rows.value_or(meta.n_rows);
  if (n_rows > meta.n_rows) {
    throw Error(ErrorCode::kInvalidValue, fmt::format("rows is {}, but {} has {}", n_rows, meta.name, meta.n_rows), "select.rows");
  }
  require(n_rows >= 1, ErrorCode::kBadData, "{} has no rows", meta.name);
  require(n_rows <= kMaxRows, ErrorCode::kBadData, "{} rows are selected, at most {} can be computed with", n_rows, kMaxRows);
  return n_rows;
}

}  // namespace

const ColumnInfo& find_column(const DatasetMeta& meta, const std::string& name, const std::string& path) {
  for (const ColumnInfo& column : meta.columns) {
    if (column.name == name) return column;
  }
  std::vector<std::string_view> names;
  for (const ColumnInfo& column : meta.columns) names.push_back(column.name);
  const std::string_view nearest = schema::nearest_name(name, names);
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("{} has no column '{}'{}", meta.name, name,
                          nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
              path);
}

const ColumnInfo* find_target(const schema::Select& select, const DatasetMeta& meta) {
  if (select.target) return &find_column(meta, *select.target, "select.target");
  if (meta.target.empty()) return nullptr;
  return &find_column(meta, meta.target, "");
}

Selection select_features(const schema::Select& select, const DatasetMeta& meta, Accepted accepted) {
  Selection selection{.n_rows = row_count(select, meta), .accepted = accepted, .scale = select.scale.value_or(1)};
  for (const ColumnInfo* column : feature_columns(select, meta)) {
    if (column->type == ColumnInfo::Type::kString && select.columns.empty() && accepted.categories) {
      selection.left_out.push_back(column->name);
      continue;
    }
    require_usable(*column, meta, accepted);
    selection.columns.push_back(column->values_column);
    selection.features.push_back(feature_of(*column));
  }
  require(!selection.columns.empty(), ErrorCode::kBadData, "{} has no feature columns", meta.name);
  const bool is_large = selection.n_rows >= kLargeTable / selection.n_cols() + (kLargeTable % selection.n_cols() != 0 ? 1 : 0);
  selection.is_float32 = select.dtype ? *select.dtype == "float32" : meta.is_float32 && is_large;
  return selection;
}

}  // namespace kedge::engine
