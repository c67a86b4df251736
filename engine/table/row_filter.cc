// Conditions become tests of a column's cells; each step passes over the rows that the one before left.
#include "engine/table/row_filter.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "engine/core/legacy_random.h"
#include "engine/core/stop.h"
#include "engine/table/row_condition.h"
#include "engine/table/selection.h"
#include "engine/table/typed_columns.h"
#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using Rows = std::vector<std::int64_t>;

constexpr std::size_t kMostConditions = 1000;
constexpr std::int64_t kMostSeed = 4294967295;

std::string path_of(std::size_t condition) {
  return fmt::format("select.where[{}]", condition);
}

// The cells of one column as the job reads them: numbers, or the codes of its categories; NaN where one is missing.
// Borrows.
class Cells {
 public:
  Cells(const DatasetFile& data, const ColumnInfo& column)
      : stored_(data, column, data.meta().n_rows), map_(column.cells) {}
  double at(std::int64_t row) const { return map_.of(stored_.at(row)); }

 private:
  StoredColumn stored_;
  const CellMapRef& map_;
};

template <class Keep>
void keep_rows(Rows& rows, Keep&& keep) {
  std::int64_t seen = 0;
  std::erase_if(rows, [&](std::int64_t row) {
    if (seen++ % kRowsBetweenStops == 0) check_job_stop();
    return !keep(row);
  });
}

// Drops rows step by step. Borrows.
class Filter {
 public:
  Filter(const schema::Select& select, const DatasetFile& data, const DatasetMeta& columns)
      : select_(select), data_(data), columns_(columns), rows_(static_cast<std::size_t>(data.meta().n_rows)) {
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  Rows left() {
    for (std::size_t i = 0; i < select_.where.size(); ++i)
      meet(parse_row_condition(select_.where[i], path_of(i)), path_of(i));
    if (select_.dropna) drop_missing();
    if (select_.dropDuplicates) drop_duplicates();
    if (rows_.empty())
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}: the selection leaves none of {} rows", data_.meta().name, data_.meta().n_rows),
                  "select");
    if (select_.sample) draw(*select_.sample);
    return std::move(rows_);
  }

 private:
  void meet(const RowCondition& condition, const std::string& path) {
    const ColumnInfo& column = find_column(columns_, condition.column, path);
    const auto test = condition_test(condition, column, path);
    const Cells cells(data_, column);
    keep_rows(rows_, [&](std::int64_t row) { return test(cells.at(row)); });
  }

  // The columns that count for dropna and dropDuplicates.
  std::vector<Cells> used_cells() const {
    std::vector<Cells> cells;
    const auto is_named = [&](const ColumnInfo& column) {
      if (select_.columns.empty()) return true;
      return is_target(select_, columns_, column.name) || column.name == select_.weights ||
             column.name == select_.groups ||
             std::ranges::find(select_.columns, column.name) != select_.columns.end() ||
             (!column.source.empty() && std::ranges::find(select_.columns, column.source) != select_.columns.end());
    };
    for (std::size_t i = 0; i < select_.columns.size(); ++i)
      if (std::ranges::none_of(columns_.columns, [&](const ColumnInfo& c) {
            return c.name == select_.columns[i] || c.source == select_.columns[i];
          }))
        find_column(columns_, select_.columns[i], fmt::format("select.columns[{}]", i));   // says that it is unknown
    for (const ColumnInfo& column : columns_.columns)
      if (column.values_column >= 0 && is_named(column)) cells.emplace_back(data_, column);
    return cells;
  }

  void drop_missing() {
    for (const Cells& cells : used_cells())
      keep_rows(rows_, [&](std::int64_t row) { return !std::isnan(cells.at(row)); });
  }

  void drop_duplicates() {
    const std::vector<Cells> cells = used_cells();
    // -0 and 0 are equal, and one missing cell is as good as another.
    const auto bits = [](double cell) {
      return std::isnan(cell) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(cell + 0.0);
    };
    const auto hash = [&](std::int64_t row) {
      std::uint64_t mixed = 0x9e3779b97f4a7c15;
      for (const Cells& column : cells) mixed = std::rotl((mixed ^ bits(column.at(row))) * 0xff51afd7ed558ccd, 29);
      return mixed;
    };
    const auto are_equal = [&](std::int64_t a, std::int64_t b) {
      return std::ranges::all_of(cells, [&](const Cells& column) { return bits(column.at(a)) == bits(column.at(b)); });
    };
    std::unordered_multimap<std::uint64_t, std::int64_t> kept;
    keep_rows(rows_, [&](std::int64_t row) {
      const std::uint64_t key = hash(row);
      const auto [first, last] = kept.equal_range(key);
      if (std::any_of(first, last, [&](const auto& entry) { return are_equal(entry.second, row); })) return false;
      kept.emplace(key, row);
      return true;
    });
  }

  void draw(std::int64_t n) {
    const auto left = static_cast<std::int64_t>(rows_.size());
    if (n > left)
      throw Error(ErrorCode::kInvalidValue, fmt::format("sample is {}, but {} rows are left", n, left),
                  "select.sample");
    LegacyRandom random(static_cast<std::uint32_t>(select_.sampleSeed.value_or(0)));
    Rows order = random.permutation(left);
    order.resize(static_cast<std::size_t>(n));
    for (std::int64_t& place : order) place = rows_[static_cast<std::size_t>(place)];
    rows_ = std::move(order);
  }

  const schema::Select& select_;
  const DatasetFile& data_;
  const DatasetMeta& columns_;
  Rows rows_;
};

template <class T>
void copy_rows(const Rows& rows, std::span<const T> from, std::span<T> to, std::int64_t n_cols) {
  const auto width = static_cast<std::size_t>(n_cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % static_cast<std::size_t>(kRowsBetweenStops) == 0) check_job_stop();
    std::ranges::copy(from.subspan(static_cast<std::size_t>(rows[i]) * width, width),
                      to.subspan(i * width, width).begin());
  }
}

template <class T>
std::int64_t missing_in(std::span<const T> values, std::int64_t column, std::int64_t n_cols) {
  std::int64_t missing = 0;
  for (auto at = static_cast<std::size_t>(column); at < values.size(); at += static_cast<std::size_t>(n_cols))
    missing += std::isnan(values[at]);
  return missing;
}

}   // namespace

bool filters_rows(const schema::Select& select) {
  return !select.where.empty() || select.dropna || select.dropDuplicates || select.sample.has_value();
}

std::string row_filter_key(const schema::Select& select) {
  schema::Select part = select;
  part.rows = {}, part.dtype = {}, part.scale = {};
  return schema::to_json(schema::PreviewRequest{.select = part});
}

void check_row_filter(const schema::Select& select) {
  if (select.where.size() > kMostConditions)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("where has {} conditions, at most {}", select.where.size(), kMostConditions),
                "select.where");
  for (std::size_t i = 0; i < select.where.size(); ++i) parse_row_condition(select.where[i], path_of(i));
  if (select.sample && *select.sample < 1)
    throw Error(ErrorCode::kInvalidValue, fmt::format("sample is {}, must be at least 1", *select.sample),
                "select.sample");
  if (!select.sampleSeed) return;
  if (!select.sample) throw Error(ErrorCode::kInvalidValue, "sampleSeed is there without sample", "select.sampleSeed");
  if (*select.sampleSeed < 0 || *select.sampleSeed > kMostSeed)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("sampleSeed is {}, must be 0 to {}", *select.sampleSeed, kMostSeed), "select.sampleSeed");
}

std::vector<std::int64_t> filtered_rows(const schema::Select& select, const DatasetFile& data) {
  if (data.meta().is_sparse())
    throw Error(ErrorCode::kInvalidValue, "rows of sparse data are not filtered; select.rows takes the first ones",
                "select");
  schema::Select of_all = select;
  of_all.rows = {};   // categories are those of all rows: the first ones are taken afterwards
  const std::optional<DatasetMeta> typed = typed_meta(of_all, data);
  return Filter(select, data, typed ? *typed : data.meta()).left();
}

void write_filtered_rows(const schema::Select& select, const DatasetFile& data, const std::filesystem::path& output) {
  const Rows rows = filtered_rows(select, data);
  DatasetMeta meta = data.meta();
  meta.n_rows = static_cast<std::int64_t>(rows.size());
  DatasetFileWriter writer(output, meta);
  const std::int64_t n_cols = meta.n_values_columns;
  if (meta.is_float32) copy_rows(rows, data.values_f32(), writer.values_f32(), n_cols);
  else copy_rows(rows, data.values_f64(), writer.values_f64(), n_cols);
  for (ColumnInfo& column : writer.meta().columns) {
    if (column.values_column < 0) continue;
    column.missing = meta.is_float32 ? missing_in<float>(writer.values_f32(), column.values_column, n_cols)
                                     : missing_in<double>(writer.values_f64(), column.values_column, n_cols);
  }
  writer.finish();
}

}   // namespace kedge::engine
