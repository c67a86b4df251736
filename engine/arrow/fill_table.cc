// Parts are read in any order; codes of categories are local to a part until all are known, as those of a CSV's chunks
// are.
#include "engine/arrow/fill_table.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "engine/arrow/cells.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using Type = ColumnInfo::Type;

constexpr std::size_t kMostCategories = std::size_t{1} << 24;   // codes beyond are not exact in float32
constexpr std::string_view kPandasIndex = "__index_level_";

// What work(thread, i) throws first is thrown here, when all have ended.
template <class Work>
void for_each_part(std::size_t n_parts, int threads, const std::atomic<bool>& is_over, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> has_failed = false;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < n_parts && !has_failed && !is_over; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!has_failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min(n_parts, static_cast<std::size_t>(std::max(threads, 1)));
    for (std::size_t t = 1; t < wanted; ++t) others.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

// The values' columns of these fields.
std::vector<std::int64_t> columns_of_fields(const DatasetMeta& meta, const std::vector<int>& fields) {
  std::vector<std::int64_t> columns;
  for (const int field : fields) columns.push_back(meta.columns[static_cast<std::size_t>(field)].values_column);
  return columns;
}

template <class T>
class Filler {
 public:
  Filler(const TableSource& source, DatasetMeta& meta, std::span<T> values, int threads, const ReportPart& report)
      : source_(source), meta_(meta), matrix_{values, meta.n_values_columns}, threads_(threads), report_(report) {}

  bool fill() {
    std::vector<int> fields;
    for (std::size_t c = 0; c < meta_.columns.size(); ++c)
      if (meta_.columns[c].values_column >= 0) fields.push_back(static_cast<int>(c));
    parts_ = source_.parts(fields);
    found_.resize(parts_.size());
    for_each_part(parts_.size(), threads_, is_inexact_, [this](std::size_t i) { read(i); });
    if (is_inexact_) return false;
    for (ColumnInfo& column : meta_.columns) column.missing = 0, column.categories.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i)
      for (std::size_t c = 0; c < parts_[i].fields.size(); ++c)
        meta_.columns[static_cast<std::size_t>(parts_[i].fields[c])].missing += found_[i][c].missing;
    for (const int field : fields)
      if (meta_.columns[static_cast<std::size_t>(field)].type == Type::kNominal) merge_categories(field);
    return true;
  }

 private:
  void read(std::size_t i) {
    const TablePart& part = parts_[i];
    const std::vector<std::int64_t> columns = columns_of_fields(meta_, part.fields);
    found_[i].resize(part.fields.size());
    const auto take = [&](std::int64_t row, std::span<const std::shared_ptr<arrow::Array>> arrays) {
      if (!is_inexact_) write_cells(matrix_, part.first_row + row, columns, arrays, found_[i], is_inexact_);
    };
    auto reader = borrow_reader();
    reader->read(part, take);
    const std::lock_guard lock(mutex_);
    readers_.push_back(std::move(reader));
    report_(++done_, static_cast<std::int64_t>(parts_.size()));
  }

  // One for each thread: to open one may mean to read dictionaries.
  std::unique_ptr<TableSource::Reader> borrow_reader() {
    {
      const std::lock_guard lock(mutex_);
      if (!readers_.empty()) {
        auto reader = std::move(readers_.back());
        readers_.pop_back();
        return reader;
      }
    }
    return source_.reader();
  }

  // Of one column: where it is in each part that has it.
  void merge_categories(int field) {
    ColumnInfo& column = meta_.columns[static_cast<std::size_t>(field)];
    std::vector<std::pair<const TablePart*, LocalCategories*>> places;
    std::map<std::string_view, std::int64_t> sorted;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto found = std::ranges::find(parts_[i].fields, field);
      if (found == parts_[i].fields.end()) continue;
      LocalCategories& local = found_[i][static_cast<std::size_t>(found - parts_[i].fields.begin())];
      for (const auto& [text, code] : local.codes) sorted.emplace(text, 0);
      places.emplace_back(&parts_[i], &local);
    }
    require(sorted.size() <= kMostCategories, ErrorCode::kBadData, "column '{}' holds {} different texts, at most {}",
            column.name, sorted.size(), kMostCategories);
    for (auto& [text, code] : sorted)
      code = static_cast<std::int64_t>(column.categories.size()), column.categories.emplace_back(text);
    const std::atomic<bool> never = false;
    for_each_part(places.size(), threads_, never,
                  [&](std::size_t i) { recode(column, *places[i].first, *places[i].second, sorted); });
  }

  void recode(const ColumnInfo& column, const TablePart& part, const LocalCategories& local,
              const std::map<std::string_view, std::int64_t>& sorted) {
    std::vector<T> place(local.codes.size());
    for (const auto& [text, code] : local.codes)
      place[static_cast<std::size_t>(code)] = static_cast<T>(sorted.at(text));
    T* cell = matrix_.values.data() + part.first_row * matrix_.width + column.values_column;
    for (std::int64_t r = 0; r < part.n_rows; ++r, cell += matrix_.width)
      if (*cell == *cell) *cell = place[static_cast<std::size_t>(*cell)];
  }

  const TableSource& source_;
  DatasetMeta& meta_;
  const CellMatrix<T> matrix_;
  const int threads_;
  const ReportPart& report_;
  std::vector<TablePart> parts_;
  std::vector<std::vector<LocalCategories>> found_;   // by part and field
  std::atomic<bool> is_inexact_ = false;
  std::mutex mutex_;   // guards what follows, and calls of report_
  std::vector<std::unique_ptr<TableSource::Reader>> readers_;
  std::int64_t done_ = 0;
};

}   // namespace

DatasetMeta columns_of(const TableSource& source) {
  DatasetMeta meta;
  meta.n_rows = source.n_rows();
  meta.is_float32 = true;
  for (const auto& field : source.schema().fields()) {
    ColumnInfo column{.name = field->name(), .type = column_type(*field->type())};
    if (column.type != Type::kString) column.values_column = meta.n_values_columns++;
    if (column.name.starts_with(kPandasIndex)) meta.ignored.push_back(column.name);
    meta.columns.push_back(std::move(column));
  }
  return meta;
}

template <class T>
bool fill_table(const TableSource& source, DatasetMeta& meta, std::span<T> values, int threads,
                const ReportPart& report) {
  const auto cells = static_cast<std::size_t>(meta.n_rows * meta.n_values_columns);
  require(values.size() >= cells, ErrorCode::kInternal, "the file for {} values has room for {}", cells, values.size());
  return Filler<T>(source, meta, values, threads, report).fill();
}

template bool fill_table<float>(const TableSource&, DatasetMeta&, std::span<float>, int, const ReportPart&);
template bool fill_table<double>(const TableSource&, DatasetMeta&, std::span<double>, int, const ReportPart&);

}   // namespace kedge::engine
