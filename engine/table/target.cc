// Reads the columns that are not features.
#include "engine/table/target.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"
#include "engine/table/selection.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

// `role`: "target", for messages.
std::vector<double> read_column(const ColumnInfo& column, const DatasetFile& data, std::int64_t n_rows, const char* role) {
  require(column.values_column >= 0, ErrorCode::kBadData, "{} '{}' is text, must be nominal or numeric", role, column.name);
  std::vector<double> values = data.column(column.values_column, n_rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = column.cells.of(values[i]);
    require(!std::isnan(values[i]), ErrorCode::kBadData, "{} '{}' is missing (NaN) in row {} (counted from 0)", role, column.name, i);
  }
  return values;
}

std::vector<double> distinct_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::int32_t> positions(const std::vector<double>& values, const std::vector<double>& distinct) {
  std::vector<std::int32_t> codes;
  codes.reserve(values.size());
  for (const double value : values) {
    codes.push_back(static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin()));
  }
  return codes;
}

std::string class_name(const ColumnInfo& column, double value) {
  if (column.type == ColumnInfo::Type::kNominal) return column.categories.at(static_cast<std::size_t>(value));
  return fmt::format("{:.0f}", value + 0.0);   // -0 becomes 0
}

// `target`: a TaskTarget or a TargetOutput.
template <class Classes>
void set_classes(const ColumnInfo& column, const std::vector<double>& values, Classes& target) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]) && values[i] == std::floor(values[i]), ErrorCode::kBadData,
            "y is continuous: target '{}' is {} in row {} (counted from 0), a classifier needs classes: a nominal column or whole numbers",
            column.name, values[i], i);
  }
  const std::vector<double> distinct = distinct_values(values);
  for (const double value : distinct) target.classes.push_back(class_name(column, value));
  require(distinct.size() > 1, ErrorCode::kBadData, "target '{}' has one class only, '{}', in the {} selected rows; a classifier needs two",
          column.name, target.classes.front(), values.size());
  target.codes = positions(values, distinct);
}

template <class Values>
void set_values(const ColumnInfo& column, std::vector<double> values, const std::string& owner, Values& target) {
  require(column.type == ColumnInfo::Type::kNumeric, ErrorCode::kBadData,
          "target '{}' is nominal, {} needs numbers; {} reads it as such, or says which cell is none", column.name, owner,
          types_words(column.name, "number"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]), ErrorCode::kBadData, "target '{}' is infinite in row {} (counted from 0)", column.name, i);
  }
  target.values = std::move(values);
}

std::vector<double> read_weights(const ColumnInfo& column, const DatasetFile& data, std::int64_t n_rows) {
  std::vector<double> weights = read_column(column, data, n_rows, "weights");
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require(std::isfinite(weights[i]) && weights[i] >= 0, ErrorCode::kBadData,
            "weights '{}' are {} in row {} (counted from 0), must be finite and at least 0", column.name, weights[i], i);
    sum += weights[i];
  }
  require(sum > 0, ErrorCode::kBadData, "weights '{}' are 0 in all {} selected rows", column.name, n_rows);
  return weights;
}

}  // namespace

TaskTarget read_target(const schema::Select& select, const DatasetFile& data, std::int64_t n_rows, TargetKind kind,
                       const std::string& owner, const DatasetMeta* typed) {
  TaskTarget target;
  target.kind = kind;
  const DatasetMeta& meta = typed ? *typed : data.meta();
  const auto read = [&](const ColumnInfo& column, auto& into) {
    std::vector<double> values = read_column(column, data, n_rows, "target");
    if (kind == TargetKind::kClasses) set_classes(column, values, into);
    else set_values(column, std::move(values), owner, into);
  };
  if (kind != TargetKind::kNone) {
    const std::vector<const ColumnInfo*> columns = find_targets(select, meta);
    if (columns.empty()) {
      throw schema::Error(ErrorCode::kBadData, fmt::format("{} has no target column, {} needs one: name it in select.target",
                                                           meta.name, owner), "select.target");
    }
    if (select.targets.empty()) read(*columns[0], target);
    else
      for (const ColumnInfo* column : columns)
        read(*column, target.outputs.emplace_back(TargetOutput{.name = column->name}));
  }
  if (select.weights) target.weights = read_weights(find_column(meta, *select.weights, "select.weights"), data, n_rows);
  if (select.groups) {
    const auto values = read_column(find_column(meta, *select.groups, "select.groups"), data, n_rows, "groups");
    target.groups = positions(values, distinct_values(values));
  }
  return target;
}

}  // namespace kedge::engine
