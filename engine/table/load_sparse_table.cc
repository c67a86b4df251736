// Copies the selected part of a mapped sparse data set to the device: scaled, converted, and checked.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/core/require.h"
#include "engine/table/selection.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// The selected entries, host memory.
template <class T>
struct HostEntries {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
};

// Place of each column of the file among the selected ones, or -1.
std::vector<std::int32_t> places_of(const Selection& selection, std::int64_t n_values_columns) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(n_values_columns), -1);
  for (std::size_t j = 0; j < selection.columns.size(); ++j)
    places[static_cast<std::size_t>(selection.columns[j])] = static_cast<std::int32_t>(j);
  return places;
}

[[noreturn]] void refuse_value(const Selection& selection, std::int32_t column, std::int64_t row,
                               double value, double scaled, const char* dtype) {
  const std::string problem =
      std::isnan(value)   ? "is missing (NaN); the first step must take missing values, as SimpleImputer does"
      : std::isinf(value) ? "is infinite"
                          : fmt::format("is {}, too large for {}", scaled, dtype);
  throw Error(ErrorCode::kBadData,
              fmt::format("column '{}', row {} (counted from 0) {}",
                          selection.features[static_cast<std::size_t>(column)].name, row, problem));
}

// Named columns may stand in another order than in the file: their entries are then sorted.
template <class T>
void sort_row(HostEntries<T>& entries, std::size_t begin) {
  if (std::is_sorted(entries.columns.begin() + static_cast<std::ptrdiff_t>(begin), entries.columns.end()))
    return;
  std::vector<std::pair<std::int32_t, T>> row;
  for (std::size_t e = begin; e < entries.columns.size(); ++e)
    row.emplace_back(entries.columns[e], entries.values[e]);
  std::ranges::sort(row);
  for (std::size_t e = begin; e < entries.columns.size(); ++e)
    std::tie(entries.columns[e], entries.values[e]) = row[e - begin];
}

template <class T, class S>
HostEntries<T> select_entries(const Context& ctx, const Selection& selection,
                              const SparseSpans<const S>& file, const std::string& name,
                              std::int64_t n_values_columns) {
  const std::vector<std::int32_t> places = places_of(selection, n_values_columns);
  const auto n_entries = static_cast<std::int64_t>(file.values.size());
  const char* const dtype = std::is_same_v<T, float> ? "float32" : "float64";
  HostEntries<T> out;
  for (std::int64_t i = 0; i < selection.n_rows; ++i) {
    ctx.check_stop();
    const std::int64_t begin = file.offsets[static_cast<std::size_t>(i)],
                       end = file.offsets[static_cast<std::size_t>(i + 1)];
    require(0 <= begin && begin <= end && end <= n_entries, ErrorCode::kDatasetCorrupt,
            "{}: row {} makes no sense", name, i);
    const std::size_t first = out.columns.size();
    std::int64_t previous = -1;
    for (std::int64_t e = begin; e < end; ++e) {
      const std::int32_t column = file.columns[static_cast<std::size_t>(e)];
      require(column > previous && column < n_values_columns, ErrorCode::kDatasetCorrupt,
              "{}: row {} makes no sense", name, i);
      previous = column;
      const std::int32_t place = places[static_cast<std::size_t>(column)];
      if (place < 0) continue;
      const double value = static_cast<double>(file.values[static_cast<std::size_t>(e)]);
      const double scaled =
          selection.features[static_cast<std::size_t>(place)].is_nominal ? value : value * selection.scale;
      const T stored = static_cast<T>(scaled);
      if (!std::isfinite(stored) && !(std::isnan(stored) && selection.accepted.nan))
        refuse_value(selection, place, i, value, scaled, dtype);
      out.columns.push_back(place), out.values.push_back(stored);
    }
    sort_row(out, first);
    out.offsets.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  require(out.values.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
          ErrorCode::kBadData,
          "{}: {} values of the sparse table are selected, at most {} can be computed with", name,
          out.values.size(), std::numeric_limits<std::int32_t>::max());
  return out;
}

}  // namespace

template <class T>
std::shared_ptr<Table<T>> load_sparse_table(const Context& ctx, const Selection& selection,
                                            const DatasetFile& data) {
  const DatasetMeta& meta = data.meta();
  const HostEntries<T> entries =
      meta.is_float32
          ? select_entries<T>(ctx, selection, data.sparse_f32(), meta.name, meta.n_values_columns)
          : select_entries<T>(ctx, selection, data.sparse_f64(), meta.name, meta.n_values_columns);
  auto table = std::make_shared<Table<T>>();
  table->sparse =
      CsrMatrix<T>(ctx.memory(), selection.n_cols(), std::span<const std::int64_t>(entries.offsets),
                   std::span<const std::int32_t>(entries.columns), std::span<const T>(entries.values));
  ctx.memory().synchronize();  // the host's copy goes away
  table->features = selection.features;
  table->is_finite = std::ranges::none_of(entries.values, [](T v) { return std::isnan(v); });
  return table;
}

template std::shared_ptr<Table<float>> load_sparse_table(const Context&, const Selection&,
                                                         const DatasetFile&);
template std::shared_ptr<Table<double>> load_sparse_table(const Context&, const Selection&,
                                                          const DatasetFile&);

}  // namespace kedge::engine
