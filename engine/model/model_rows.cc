// Matches the columns of a source to those of a model.
#include "engine/model/model_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/missing_text.h"
#include "engine/core/number_text.h"
#include "engine/core/require.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// The column of the rows that a column of the model is made of.
const std::string& input_of(const schema::ModelColumn& column) { return column.source.empty() ? column.name : column.source; }

// What rows without names have, in order: the parts of a date are one column.
std::vector<std::string> inputs_of(const schema::ModelInfo& model) {
  std::vector<std::string> inputs;
  for (const schema::ModelColumn& column : model.columns)
    if (std::find(inputs.begin(), inputs.end(), input_of(column)) == inputs.end()) inputs.push_back(input_of(column));
  return inputs;
}

std::vector<std::vector<std::size_t>> matched(const schema::ModelInfo& model, const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t c = names.size(); c > 0; --c) places[names[c - 1]] = c - 1;   // the first of a name
  std::vector<std::vector<std::size_t>> targets(names.size());
  for (std::size_t j = 0; j < model.columns.size(); ++j) {
    const std::string& wanted = input_of(model.columns[j]);
    const auto found = places.find(wanted);
    if (found == places.end()) {
      const std::string_view nearest = schema::nearest_name(wanted, names);
      const std::string hint = nearest.empty() ? "" : fmt::format("; the nearest name is '{}'", nearest);
      throw Error(ErrorCode::kBadData, fmt::format("the rows have no column '{}', which the model reads{}", wanted, hint));
    }
    targets[found->second].push_back(j);
  }
  return targets;
}

}  // namespace

ModelRowsBuilder::ModelRowsBuilder(const schema::ModelInfo& model, const std::vector<std::string>& names, std::size_t n_columns)
    : model_(model), columns_(model.columns.size()) {
  const std::vector<std::string> inputs = names.empty() ? inputs_of(model) : std::vector<std::string>();
  require(!names.empty() || n_columns == inputs.size(), ErrorCode::kBadData, "a row has {} values, the model reads {} columns", n_columns,
          inputs.size());
  targets_ = matched(model, names.empty() ? inputs : names);
  for (const std::string& text : model.naValues) {
    na_values_.insert(text);
    if (const auto number = number_of(text); number && !std::isnan(*number)) na_numbers_.push_back(*number);
  }
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const schema::ModelColumn& column = model.columns[j];
    columns_[j].is_text = column.kind == "text";
    columns_[j].is_category = column.kind == "category" || columns_[j].is_text;
    columns_[j].date = date_type(column.type);
    for (std::size_t c = 0; c < column.categories.size(); ++c) columns_[j].codes.emplace(column.categories[c], static_cast<double>(c));
    rows_.features.push_back({column.name, column.categories, columns_[j].is_category});
  }
}

void ModelRowsBuilder::refuse(std::size_t column, const std::string& problem) const {
  throw Error(ErrorCode::kBadData, fmt::format("column '{}', row {} (counted from 0) {}", input_of(model_.columns[column]),
                                               first_row_ + rows_.n_rows - 1, problem));
}

void ModelRowsBuilder::expect(std::int64_t n_rows, std::int64_t first_row) {
  rows_.values.reserve(static_cast<std::size_t>(n_rows) * columns_.size());
  first_row_ = first_row;
}

void ModelRowsBuilder::add_row() {
  ++rows_.n_rows;
  rows_.values.resize(rows_.values.size() + columns_.size(), std::numeric_limits<double>::quiet_NaN());
}

void ModelRowsBuilder::set(std::size_t source_column, double value) {
  if (std::isnan(value)) return;
  for (const std::size_t column : targets_[source_column]) {
    if (columns_[column].is_category) put_category(column, category_name(value));
    else put_number(column, value);
  }
}

void ModelRowsBuilder::set(std::size_t source_column, std::string_view text) {
  if (text.empty() || is_na(text)) return;
  for (const std::size_t column : targets_[source_column]) put_text(column, text);
}

bool ModelRowsBuilder::is_na(std::string_view text) const {
  return !na_values_.empty() && (na_values_.contains(std::string(text)) || na_values_.contains(std::string(without_blanks(text))));
}

void ModelRowsBuilder::put_text(std::size_t column, std::string_view text) {
  if (columns_[column].is_category) return put_category(column, text);
  const std::optional<DateType>& date = columns_[column].date;
  const std::optional<double> value = date ? days_of(text, date->order) : number_of(text);
  if (!value && is_missing_text(text)) return;
  if (!value) refuse(column, fmt::format("is '{}', must be a {}", text.substr(0, 64), date ? "date" : "number"));
  put_number(column, *value);
}

void ModelRowsBuilder::put_number(std::size_t column, double value) {
  if (std::isnan(value) || std::ranges::find(na_numbers_, value) != na_numbers_.end()) return;
  if (std::isinf(value)) refuse(column, "is infinite");
  const std::optional<DateType>& date = columns_[column].date;
  put(column, (date ? part_of(value, date->part) : value) * model_.scale);
}

// A text that usually stands for a missing cell is read as missing, unless the model has it as a category.
void ModelRowsBuilder::put_category(std::size_t column, std::string_view text) {
  if (is_na(text)) return;
  std::string name(text);
  std::vector<std::string>& names = rows_.features[column].categories;
  auto found = columns_[column].codes.find(name);
  if (found == columns_[column].codes.end()) {
    if (!columns_[column].is_text && is_missing_text(text)) return;
    found = columns_[column].codes.emplace(name, static_cast<double>(names.size())).first;
    names.push_back(std::move(name));
  }
  put(column, found->second);
}

void ModelRowsBuilder::put(std::size_t column, double value) {
  rows_.values[rows_.values.size() - columns_.size() + column] = value;
}

ModelRows ModelRowsBuilder::finish() { return std::move(rows_); }

DatasetRows::DatasetRows(const schema::ModelInfo& model, const DatasetFile& data, std::int64_t end, std::int64_t begin)
    : model_(model), data_(data), begin_(begin) {
  const DatasetMeta& meta = data.meta();
  for (const ColumnInfo& column : meta.columns) names_.push_back(column.name);
  const ModelRowsBuilder builder(model, names_, names_.size());
  for (std::size_t c = 0; c < names_.size(); ++c) {
    require(!builder.reads(c) || meta.columns[c].type != ColumnInfo::Type::kString, ErrorCode::kBadData,
            "{}: column '{}' is text whose cells are not stored, but the model needs it", meta.name, names_[c]);
  }
  if (!meta.is_sparse()) return;
  sparse_.resize(names_.size());
  for (std::size_t c = 0; c < names_.size() && begin < end; ++c) {
    if (!builder.reads(c)) continue;
    const std::vector<double> cells = data.column(meta.columns[c].values_column, end);
    sparse_[c].assign(cells.begin() + begin, cells.end());
  }
}

double DatasetRows::cell(std::size_t column, std::int64_t row) const {
  if (!sparse_.empty()) return sparse_[column][static_cast<std::size_t>(row - begin_)];
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
      if (!builder.reads(c)) continue;
      const double value = cell(c, i);
      const bool is_code = meta.columns[c].type == ColumnInfo::Type::kNominal && !std::isnan(value);
      if (is_code) builder.set(c, std::string_view(meta.columns[c].categories.at(static_cast<std::size_t>(value))));
      else builder.set(c, value);
    }
  }
  return builder.finish();
}

}  // namespace kedge::engine
