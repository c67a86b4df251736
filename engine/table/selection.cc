// Chooses the feature columns of a job and its dtype.
#include "engine/table/selection.h"

#include <algorithm>

#include "engine/table/column_advice.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// From this many values on, float32 data are computed in float32: images rather than small tables.
constexpr std::int64_t kLargeTable = std::int64_t{1} << 20;
constexpr std::int64_t kMaxRows = 0x7fffffff;   // row numbers are 32 bits wide on the device

constexpr std::size_t kNamed = 5;   // columns that one message explains

bool is_usable(const ColumnInfo& column, Accepted accepted) {
  return column.type == ColumnInfo::Type::kNumeric || (column.type == ColumnInfo::Type::kNominal && accepted.categories);
}

// All columns that cannot be features, so that one more attempt can mend them all.
[[noreturn]] void refuse_columns(const std::vector<const ColumnInfo*>& columns, const DatasetMeta& meta, const DatasetFile* data) {
  std::string message = meta.name + ":";
  for (std::size_t i = 0; i < std::min(columns.size(), kNamed); ++i) {
    const ColumnInfo& column = *columns[i];
    const bool is_nominal = column.type == ColumnInfo::Type::kNominal;
    const ColumnInfo* stored = data && is_nominal ? file_column(column.name, data->meta()) : nullptr;
    message += fmt::format("{} column '{}' is {}; {}", i > 0 ? "." : "", column.name,
                           is_nominal ? "nominal, a feature must be numeric or go through a step that takes categories "
                                        "(ColumnTransformer, OneHotEncoder, OrdinalEncoder)"
                                      : "text, a feature must be numeric or nominal",
                           stored ? nominal_advice(*stored, *data) : "name the columns to keep in select.columns, without it");
  }
  if (columns.size() > kNamed) message += fmt::format(". {} more columns are no numbers", columns.size() - kNamed);
  throw Error(ErrorCode::kBadData, message, "select.columns");
}

Feature feature_of(const ColumnInfo& column) {
  const bool is_nominal = column.type == ColumnInfo::Type::kNominal;
  return {column.name, is_nominal ? column.categories : std::vector<std::string>{}, is_nominal};
}

// What a column that cannot be a feature is used for, or null.
const char* other_role(const schema::Select& select, const DatasetMeta& meta, const ColumnInfo& column) {
  if (is_target(select, meta, column.name)) return select.targets.empty() ? "the target" : "a target";
  if (select.weights == column.name) return "the weights";
  return select.groups == column.name ? "the groups" : nullptr;
}

// Of a date in parts, by the name that the file gives it.
std::vector<const ColumnInfo*> parts_of(const DatasetMeta& meta, const std::string& name) {
  std::vector<const ColumnInfo*> parts;
  for (const ColumnInfo& column : meta.columns)
    if (!name.empty() && column.source == name) parts.push_back(&column);
  return parts;
}

std::vector<const ColumnInfo*> feature_columns(const schema::Select& select, const DatasetMeta& meta) {
  find_targets(select, meta);   // refuses unknown ones
  std::vector<const ColumnInfo*> chosen;
  for (std::size_t i = 0; i < select.columns.size(); ++i) {
    const std::string path = fmt::format("select.columns[{}]", i);
    const std::vector<const ColumnInfo*> parts = parts_of(meta, select.columns[i]);
    if (!parts.empty()) {
      chosen.insert(chosen.end(), parts.begin(), parts.end());
      continue;
    }
    const ColumnInfo& column = find_column(meta, select.columns[i], path);
    if (const char* role = other_role(select, meta, column)) {
      throw Error(ErrorCode::kInvalidValue, fmt::format("column '{}' is {}, it cannot be a feature as well", column.name, role), path);
    }
    chosen.push_back(&column);
  }
  if (!select.columns.empty()) return chosen;
  for (const ColumnInfo& column : meta.columns) {
    const bool ignored = std::find(meta.ignored.begin(), meta.ignored.end(), column.name) != meta.ignored.end();
    if (!other_role(select, meta, column) && !ignored) chosen.push_back(&column);
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

bool names_target(const schema::DatasetRef& ref) {
  if (const auto* url = std::get_if<schema::UrlRef>(&ref.source)) return !url->target.empty();
  if (const auto* text = std::get_if<schema::InlineRef>(&ref.source)) return !text->target.empty();
  return !std::holds_alternative<schema::StoredRef>(ref.source);
}

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

std::vector<const ColumnInfo*> find_targets(const schema::Select& select, const DatasetMeta& meta) {
  std::vector<const ColumnInfo*> targets;
  for (std::size_t i = 0; i < select.targets.size(); ++i)
    targets.push_back(&find_column(meta, select.targets[i], fmt::format("select.targets[{}]", i)));
  if (!targets.empty()) return targets;
  if (select.target) return {&find_column(meta, *select.target, "select.target")};
  if (!meta.target.empty()) targets.push_back(&find_column(meta, meta.target, ""));
  return targets;
}

bool is_target(const schema::Select& select, const DatasetMeta& meta, const std::string& name) {
  if (!select.targets.empty()) return std::ranges::find(select.targets, name) != select.targets.end();
  return !name.empty() && name == (select.target ? *select.target : meta.target);
}

Selection select_features(const schema::Select& select, const DatasetMeta& meta, Accepted accepted, const DatasetFile* data) {
  Selection selection{.n_rows = row_count(select, meta), .accepted = accepted, .scale = select.scale.value_or(1)};
  std::vector<const ColumnInfo*> refused;
  for (const ColumnInfo* column : feature_columns(select, meta)) {
    if (column->type == ColumnInfo::Type::kString && select.columns.empty() && accepted.categories) {
      selection.left_out.push_back(column->name);
      continue;
    }
    if (!is_usable(*column, accepted)) refused.push_back(column);
    selection.columns.push_back(column->values_column);
    selection.features.push_back(feature_of(*column));
    selection.sources.push_back({column->cells, column->type_name, column->source});
  }
  if (!refused.empty()) refuse_columns(refused, meta, data);
  require(!selection.columns.empty(), ErrorCode::kBadData, "{} has no feature columns", meta.name);
  const bool is_large = selection.n_rows >= kLargeTable / selection.n_cols() + (kLargeTable % selection.n_cols() != 0 ? 1 : 0);
  selection.is_float32 = select.dtype ? *select.dtype == "float32" : meta.is_float32 && is_large;
  return selection;
}

}  // namespace kedge::engine
