// Reads any bytes as a Parquet or Arrow file, in the way of kedge-arrow, whose confinement alone is missing.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <vector>

#include "engine/arrow/fill_table.h"
#include "engine/arrow/table_source.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

[[noreturn]] void broken(const char* what) {
  std::fputs(what, stderr);
  std::abort();
}

// A cell of texts is missing or names a category, and as many are missing as are counted.
template <class T>
void check(const DatasetMeta& meta, const std::vector<T>& values) {
  for (const ColumnInfo& column : meta.columns) {
    if (column.values_column < 0) continue;
    std::int64_t missing = 0;
    for (std::int64_t r = 0; r < meta.n_rows; ++r) {
      const T cell = values[static_cast<std::size_t>(r * meta.n_values_columns + column.values_column)];
      missing += cell != cell;
      if (column.type != ColumnInfo::Type::kNominal || cell != cell) continue;
      if (!(cell >= 0 && cell < static_cast<T>(column.categories.size()))) broken("a code names no category\n");
    }
    if (missing != column.missing) broken("missing cells are not counted right\n");
  }
}

// False: a number is not exact in T.
template <class T>
bool fill(const TableSource& source, const DatasetMeta& columns) {
  DatasetMeta meta = columns;
  std::vector<T> values(static_cast<std::size_t>(meta.n_rows * meta.n_values_columns));
  const ReportPart report = [](std::int64_t, std::int64_t) {};
  if (!fill_table<T>(source, meta, values, 1, report)) return false;
  check(meta, values);
  return true;
}

void read(std::string_view file) {
  constexpr double kMostCells = 1 << 22;   // kedged refuses what becomes far larger than it is
  const auto source = open_table(file);
  const DatasetMeta columns = columns_of(*source);
  if (columns.n_rows < 0 || columns.n_values_columns < 1) return;
  if (static_cast<double>(columns.n_rows) * static_cast<double>(columns.n_values_columns) > kMostCells) return;
  if (!fill<float>(*source, columns) && !fill<double>(*source, columns)) broken("it wants more than float64\n");
}

}   // namespace
}   // namespace kedge::engine

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> own(data, data + size);   // whose begin is aligned, as a mapped file's is
  try {
    kedge::engine::read({reinterpret_cast<const char*>(own.data()), own.size()});
  } catch (const kedge::schema::Error&) {
  } catch (const std::exception&) {   // of Parquet's library, as main.cc has it
  }
  return 0;
}
