// Counts the values of the first columns and shows the first rows, in bounded time and space.
#include "engine/table/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/core/require.h"
#include "engine/table/column_advice.h"
#include "engine/table/selection.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostColumns = 200, kMostCells = 4000;             // of an answer
constexpr std::int64_t kCountedCells = 20'000'000, kCountedRows = 500'000;   // looked at
constexpr std::size_t kMostDistinct = 1000, kLongestText = 100;
constexpr std::size_t kManyCategories = 1000;   // from here on there is a hint

// Columns are typed by the rows that are counted: no more of them are looked at.
schema::Select with_few_rows(schema::Select select) {
  select.rows = std::min(select.rows.value_or(kCountedRows), kCountedRows);
  return select;
}

class Preview {
 public:
  Preview(const schema::PreviewRequest& request, const DatasetFile& data)
      : request_(request),
        data_(data),
        typed_(typed_meta(with_few_rows(request.select), data)),
        meta_(typed_ ? *typed_ : data.meta()),
        targets_(find_targets(request.select, meta_)) {
    const schema::Select& select = request.select;
    if (select.weights) find_column(meta_, *select.weights, "select.weights");
    if (select.groups) find_column(meta_, *select.groups, "select.groups");
    for (std::size_t i = 0; i < select.columns.size(); ++i)
      if (!file_column(select.columns[i], data.meta())) find_column(meta_, select.columns[i], fmt::format("select.columns[{}]", i));
  }

  schema::DatasetPreview make(std::int64_t n_rows) const {
    const auto n_columns = std::min(kMostColumns, static_cast<std::int64_t>(meta_.columns.size()));
    const std::int64_t selected = std::clamp<std::int64_t>(request_.select.rows.value_or(meta_.n_rows), 0, meta_.n_rows);
    schema::DatasetPreview preview{
        .name = meta_.name,
        .rows = meta_.n_rows,
        .nColumns = static_cast<std::int64_t>(data_.meta().columns.size()),
        .countedRows = std::min({selected, kCountedRows, kCountedCells / std::max<std::int64_t>(1, n_columns)}),
        .target = single_target() ? single_target()->name : ""};
    const std::int64_t shown = std::min({n_rows, selected, kMostCells / std::max<std::int64_t>(1, n_columns)});
    std::vector<schema::ValueList> rows(static_cast<std::size_t>(shown));
    for (std::int64_t c = 0; c < n_columns; ++c) add_column(meta_.columns[static_cast<std::size_t>(c)], preview, rows);
    for (schema::ValueList& row : rows) preview.firstRows.emplace_back(std::move(row));
    if (single_target() && !request_.select.target && !names_target(request_.dataset))
      preview.notes.push_back(
          fmt::format("no target is named, so the last column '{}' is the target: select.target names another",
                      single_target()->name));
    if (n_columns < static_cast<std::int64_t>(meta_.columns.size()))
      preview.notes.push_back(fmt::format("{} of {} columns are shown", n_columns, meta_.columns.size()));
    return preview;
  }

 private:
  const ColumnInfo* single_target() const { return targets_.size() == 1 ? targets_[0] : nullptr; }
  bool is_target(const ColumnInfo& column) const { return std::ranges::find(targets_, &column) != targets_.end(); }

  void add_column(const ColumnInfo& column, schema::DatasetPreview& preview, std::vector<schema::ValueList>& rows) const {
    schema::PreviewColumn shown{.name = column.name, .type = type_of(column), .role = role_of(column)};
    if (column.type == ColumnInfo::Type::kString) {
      shown.missing = column.missing;
      shown.hint =
          "its cells are not kept (lists, structs, maps, bytes; ARFF's strings and dates): send the table as CSV, with one value in a cell, to use it";
      for (schema::ValueList& row : rows) row.emplace_back();
    } else {
      count(column, preview.countedRows, shown);
      const StoredColumn stored(data_, column, static_cast<std::int64_t>(rows.size()));
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(cell(column, column.cells.of(stored.at(static_cast<std::int64_t>(i)))));
      if (shown.role != "leftOut") shown.hint = hint_of(column);
    }
    preview.columns.push_back(std::move(shown));
  }

  static std::string type_of(const ColumnInfo& column) {
    if (column.type == ColumnInfo::Type::kString) return "text";
    if (column.type_name.starts_with("date")) return "date";
    return column.type == ColumnInfo::Type::kNominal ? "category" : "number";
  }

  std::string role_of(const ColumnInfo& column) const {
    const schema::Select& select = request_.select;
    if (is_target(column)) return "target";
    if (column.name == select.weights.value_or("") && select.weights) return "weights";
    if (column.name == select.groups.value_or("") && select.groups) return "groups";
    const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
      return !name.empty() && std::ranges::find(names, name) != names.end();
    };
    const bool is_chosen = select.columns.empty() ? !is_in(meta_.ignored, column.name)
                                                  : is_in(select.columns, column.name) || is_in(select.columns, column.source);
    return is_chosen && column.type != ColumnInfo::Type::kString ? "feature" : "leftOut";
  }

  void count(const ColumnInfo& column, std::int64_t n_rows, schema::PreviewColumn& shown) const {
    const std::size_t most = column.type == ColumnInfo::Type::kNominal ? column.categories.size() : kMostDistinct;
    const StoredColumn stored(data_, column, n_rows);
    std::unordered_set<double> seen;
    for (std::int64_t i = 0; i < n_rows; ++i) {
      if (i % kRowsBetweenStops == 0) check_job_stop();
      const double value = column.cells.of(stored.at(i));
      if (std::isnan(value)) ++shown.missing;
      else if (seen.size() <= most) seen.insert(value + 0.0);   // -0 is 0
    }
    shown.moreDistinct = seen.size() > most;
    shown.distinct = static_cast<std::int64_t>(std::min(seen.size(), most));
  }

  static schema::Value cell(const ColumnInfo& column, double value) {
    if (std::isnan(value)) return {};
    if (column.type == ColumnInfo::Type::kNominal) {
      const bool is_code = value >= 0 && value < static_cast<double>(column.categories.size());
      if (!is_code) return {};
      const std::string& text = column.categories[static_cast<std::size_t>(value)];
      if (text.size() <= kLongestText) return text;
      std::size_t end = kLongestText;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;   // not within a character
      return text.substr(0, end) + "...";
    }
    if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
    return value;
  }

  std::string hint_of(const ColumnInfo& column) const {
    const ColumnInfo* stored = file_column(column.source.empty() ? column.name : column.source, data_.meta());
    if (!stored || column.type != ColumnInfo::Type::kNominal || stored->type != ColumnInfo::Type::kNominal) return {};
    if (data_.meta().types_are_guessed && is_nominal_by_accident(*stored)) return nominal_advice(*stored, data_);
    if (is_target(column) || column.categories.size() < kManyCategories) return {};
    return fmt::format("it has {} categories: leave it out ({}), set max_categories, or encode it by OrdinalEncoder", column.categories.size(),
                       types_words(column.name, "drop"));
  }

  const schema::PreviewRequest& request_;
  const DatasetFile& data_;
  const std::optional<DatasetMeta> typed_;
  const DatasetMeta& meta_;
  const std::vector<const ColumnInfo*> targets_;
};

}  // namespace

schema::DatasetPreview preview_of(const schema::PreviewRequest& request, const DatasetFile& data, std::int64_t n_rows) {
  require(n_rows >= 1 && n_rows <= kMostPreviewRows, schema::ErrorCode::kInvalidValue, "rows is {}, must be 1 to {}", n_rows, kMostPreviewRows);
  return Preview(request, data).make(n_rows);
}

}  // namespace kedge::engine
