// Rows of a mapped data set as a table has them: selected, scaled and converted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "engine/core/require.h"
#include "engine/table/selection.h"

namespace kedge::engine {

// The value matrix of a data set and the part of it that is wanted. Borrows.
template <class S>
struct RowSource {
  const S* values;
  std::int64_t stride;
  const Selection& selection;
  bool adjacent;                      // the columns lie side by side
  std::vector<double> scales;         // of the columns, where they differ: codes of categories are not scaled
  std::vector<const CellMap*> maps;   // of the columns, where any has one

  RowSource(std::span<const S> all, const DatasetMeta& meta, const Selection& selection)
      : values(all.data()), stride(meta.n_values_columns), selection(selection), adjacent(true) {
    for (std::size_t j = 1; j < selection.columns.size(); ++j) {
      adjacent = adjacent && selection.columns[j] == selection.columns[j - 1] + 1;
    }
    const auto has_map = [](const FeatureSource& from) { return static_cast<bool>(from.cells); };
    if (std::any_of(selection.sources.begin(), selection.sources.end(), has_map))
      for (const FeatureSource& from : selection.sources) maps.push_back(from.cells.map.get());
    const auto is_nominal = [](const Feature& feature) { return feature.is_nominal; };
    if (selection.scale == 1 || std::none_of(selection.features.begin(), selection.features.end(), is_nominal)) return;
    for (const Feature& feature : selection.features) scales.push_back(feature.is_nominal ? 1 : selection.scale);
  }
  double at(std::int64_t row, std::int64_t feature) const {
    const auto j = static_cast<std::size_t>(feature);
    const auto stored = static_cast<double>(values[row * stride + selection.columns[j]]);
    return maps.empty() || !maps[j] ? stored : maps[j]->of(stored);
  }
};

template <class T, class S>
void copy_mapped_row(const RowSource<S>& source, std::int64_t row, T* out) {
  for (std::int64_t j = 0; j < source.selection.n_cols(); ++j) {
    const double scale = source.scales.empty() ? source.selection.scale : source.scales[static_cast<std::size_t>(j)];
    out[j] = static_cast<T>(source.at(row, j) * scale);
  }
}

template <class T, class S>
void copy_row(const RowSource<S>& source, std::int64_t row, T* out) {
  if (!source.maps.empty()) return copy_mapped_row(source, row, out);
  const std::int64_t n_cols = source.selection.n_cols();
  const S* in = source.values + row * source.stride;
  const double scale = source.selection.scale;
  const std::int64_t* columns = source.selection.columns.data();
  if (!source.scales.empty()) {
    for (std::int64_t j = 0; j < n_cols; ++j)
      out[j] = static_cast<T>(static_cast<double>(in[columns[j]]) * source.scales[static_cast<std::size_t>(j)]);
    return;
  }
  if (!source.adjacent) {
    for (std::int64_t j = 0; j < n_cols; ++j) out[j] = static_cast<T>(static_cast<double>(in[columns[j]]) * scale);
    return;
  }
  in += source.selection.columns[0];
  if (std::is_same_v<T, S> && scale == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(n_cols) * sizeof(T));
    return;
  }
#pragma omp simd
  for (std::int64_t j = 0; j < n_cols; ++j) out[j] = static_cast<T>(static_cast<double>(in[j]) * scale);
}

template <class T, class S>
void copy_rows(const RowSource<S>& source, std::int64_t first, std::int64_t count, T* out) {
  const std::int64_t n_cols = source.selection.n_cols();
#pragma omp parallel for schedule(static) if (count * n_cols > 65536)
  for (std::int64_t i = 0; i < count; ++i) copy_row(source, first + i, out + i * n_cols);
}

// Says what is wrong with the value at `cell`; rows are counted from 0.
template <class S>
[[noreturn]] void refuse_value(const RowSource<S>& source, Cell cell, const char* dtype) {
  const Selection& selection = source.selection;
  const std::string& name = selection.features[static_cast<std::size_t>(cell.col)].name;
  const double value = source.at(cell.row, cell.col);
  if (!std::isnan(value)) {
    const std::string problem =
        std::isinf(value) ? "is infinite" : fmt::format("is {}, too large for {}", value * selection.scale, dtype);
    throw schema::Error(schema::ErrorCode::kBadData,
                        fmt::format("column '{}', row {} (counted from 0) {}", name, cell.row, problem));
  }
  std::int64_t missing = 0;
  for (std::int64_t i = 0; i < selection.n_rows; ++i) missing += std::isnan(source.at(i, cell.col));
  throw schema::Error(
      schema::ErrorCode::kBadData,
      fmt::format(
          "column '{}' has {} missing value{} (NaN), the first in row {} (counted from 0); the first step must take them, as "
          "SimpleImputer does",
          name, missing, missing == 1 ? "" : "s", cell.row));
}

}   // namespace kedge::engine
