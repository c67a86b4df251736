// Matches the columns of a source to those of a model.
#include "engine/model/model_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/number_text.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// A number as the name of a category: whole numbers without decimals.
std::string category_name(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value + 0.0) : fmt::format("{}", value);
}

std::vector<int> matched(const schema::ModelInfo& model, const std::vector<std::string>& names) {
  std::vector<int> target(names.size(), -1);
  for (std::size_t j = 0; j < model.columns.size(); ++j) {
    const std::string& wanted = model.columns[j].name;
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      const std::string_view nearest = schema::nearest_name(wanted, names);
      const std::string hint = nearest.empty() ? "" : fmt::format("; the nearest name is '{}'", nearest);
      throw Error(ErrorCode::kBadData, fmt::format("the rows have no column '{}', which the model reads{}", wanted, hint));
    }
    target[static_cast<std::size_t>(found - names.begin())] = static_cast<int>(j);
  }
  return target;
}

}  // namespace

ModelRowsBuilder::ModelRowsBuilder(const schema::ModelInfo& model, const std::vector<std::string>& names, std::size_t n_columns)
    : model_(model), columns_(model.columns.size()) {
  if (!names.empty()) {
    target_ = matched(model, names);
  } else {
    require(n_columns == model.columns.size(), ErrorCode::kBadData, "a row has {} values, the model reads {} columns", n_columns,
            model.columns.size());
    for (std::size_t j = 0; j < n_columns; ++j) target_.push_back(static_cast<int>(j));
  }
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const schema::ModelColumn& column = model.columns[j];
    columns_[j].is_category = column.kind == "category";
    for (std::size_t c = 0; c < column.categories.size(); ++c) columns_[j].codes.emplace(column.categories[c], static_cast<double>(c));
    rows_.features.push_back({column.name, column.categories, columns_[j].is_category});
  }
}

void ModelRowsBuilder::refuse(int column, const std::string& problem) const {
  throw Error(ErrorCode::kBadData, fmt::format("column '{}', row {} (counted from 0) {}",
                                               model_.columns[static_cast<std::size_t>(column)].name, first_row_ + rows_.n_rows - 1, problem));
}

void ModelRowsBuilder::expect(std::int64_t n_rows, std::int64_t first_row) {
  rows_.values.reserve(static_cast<std::size_t>(n_rows) * columns_.size());
  first_row_ = first_row;
}

void ModelRowsBuilder::add_row() {
  ++rows_.n_rows;
  rows_.values.resize(rows_.values.size() + columns_.size(), std::numeric_limits<double>::quiet_NaN());
}

void ModelRowsBuilder::set(int column, double value) {
  const auto j = static_cast<std::size_t>(column);
  if (std::isnan(value)) return;
  if (columns_[j].is_category) return set(column, category_name(value));
  if (std::isinf(value)) refuse(column, "is infinite");
  rows_.values[rows_.values.size() - columns_.size() + j] = value * model_.scale;
}

void ModelRowsBuilder::set(int column, std::string_view text) {
  const auto j = static_cast<std::size_t>(column);
  if (text.empty()) return;
  if (!columns_[j].is_category) {
    const std::optional<double> number = number_of(text);
    if (!number) refuse(column, fmt::format("is '{}', must be a number", text.substr(0, 64)));
    return set(column, *number);
  }
  std::vector<std::string>& names = rows_.features[j].categories;
  const auto [found, is_new] = columns_[j].codes.emplace(std::string(text), static_cast<double>(names.size()));
  if (is_new) names.emplace_back(text);
  rows_.values[rows_.values.size() - columns_.size() + j] = found->second;
}

ModelRows ModelRowsBuilder::finish() { return std::move(rows_); }

DatasetRows::DatasetRows(const schema::ModelInfo& model, const DatasetFile& data, std::int64_t n_rows) : model_(model), data_(data) {
  const DatasetMeta& meta = data.meta();
  for (const ColumnInfo& column : meta.columns) names_.push_back(column.name);
  const ModelRowsBuilder builder(model, names_, names_.size());
  for (std::size_t c = 0; c < names_.size(); ++c) {
    const int target = builder.target_of(c);
    if (target < 0) continue;
    require(meta.columns[c].type != ColumnInfo::Type::kString, ErrorCode::kBadData, "{}: column '{}' is text, the model reads a {}", meta.name,
            names_[c], model.columns[static_cast<std::size_t>(target)].kind);
  }
  if (!meta.is_sparse()) return;
  sparse_.resize(names_.size());
  for (std::size_t c = 0; c < names_.size(); ++c)
    if (builder.target_of(c) >= 0) sparse_[c] = data.column(meta.columns[c].values_column, n_rows);
}

double DatasetRows::cell(std::size_t column, std::int64_t row) const {
  if (!sparse_.empty()) return sparse_[column][static_cast<std::size_t>(row)];
  const DatasetMeta& meta = data_.meta();
  const auto at = static_cast<std::size_t>(row * meta.n_values_columns + meta.columns[column].values_column);
  return meta.is_float32 ? static_cast<double>(data_.values_f32()[at]) : data_.values_f64()[at];
}

ModelRows DatasetRows::rows(std::int64_t first, std::int64_t count) const {
  const DatasetMeta& meta = data_.meta();
  ModelRowsBuilder builder(model_, names_, names_.size());
  builder.expect(count, first);
  for (std::int64_t i = first; i < first + count; ++i) {
    builder.add_row();
    for (std::size_t c = 0; c < names_.size(); ++c) {
      const int target = builder.target_of(c);
      if (target < 0) continue;
      const double value = cell(c, i);
      const bool is_code = meta.columns[c].type == ColumnInfo::Type::kNominal && !std::isnan(value);
      if (is_code) builder.set(target, std::string_view(meta.columns[c].categories.at(static_cast<std::size_t>(value))));
      else builder.set(target, value);
    }
  }
  return builder.finish();
}

}  // namespace kedge::engine
