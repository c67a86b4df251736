// Ranks by sorting each column's values with their rows.
#include "engine/backend/host/tree_ranks.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

template <class T>
struct Cell {
  T value;
  std::uint32_t row;
};

template <class T>
void rank_column(MatrixView<const T> X, std::int64_t col, std::vector<Cell<T>>& cells, std::uint32_t* ranks, std::vector<double>& values) {
  cells.resize(static_cast<std::size_t>(X.rows));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const T value = raw(X)[i * X.stride + col];
    require(!std::isnan(value), schema::ErrorCode::kBadData, "row {}, column {} is NaN; trees need numbers", i, col);
    cells[i] = {value, static_cast<std::uint32_t>(i)};
  }
  std::sort(cells.begin(), cells.end(), [](const Cell<T>& a, const Cell<T>& b) { return a.value < b.value; });
  for (const Cell<T>& cell : cells) {
    if (values.empty() || static_cast<double>(cell.value) != values.back()) values.push_back(static_cast<double>(cell.value));
    ranks[cell.row] = static_cast<std::uint32_t>(values.size()) - 1;
  }
  values.shrink_to_fit();
}

}  // namespace

template <class T>
RankedTable rank_columns(MatrixView<const T> X, int n_threads) {
  RankedTable table;
  table.ranks.resize(static_cast<std::size_t>(X.size()));
  std::vector<std::vector<double>> values(static_cast<std::size_t>(X.cols));
  std::vector<std::vector<Cell<T>>> scratch(static_cast<std::size_t>(n_threads));
  parallel_tasks(n_threads, X.cols, [&](std::int64_t col, int worker) {
    rank_column(X, col, scratch[worker], table.ranks.data() + col * X.rows, values[col]);
  });
  table.edges.offset.push_back(0);
  std::size_t n_values = 0;
  for (const std::vector<double>& column : values) n_values += column.size();
  table.edges.low.reserve(n_values);
  for (std::vector<double>& column : values) {
    const std::vector<double> moved = std::move(column);   // freed when it is copied
    table.edges.low.insert(table.edges.low.end(), moved.begin(), moved.end());
    table.edges.offset.push_back(static_cast<std::int32_t>(table.edges.low.size()));
  }
  table.edges.high = table.edges.low;
  return table;
}

template RankedTable rank_columns<float>(MatrixView<const float>, int);
template RankedTable rank_columns<double>(MatrixView<const double>, int);

}  // namespace kedge::engine
