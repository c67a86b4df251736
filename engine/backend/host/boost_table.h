// A table as bytes for boosting: the bins of scikit-learn's histogram gradient boosting, missing values and categories
// included.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/view.h"

namespace kedge::engine {

// The bins of a column. A value is in the first bin whose edge is not below it, and beyond the last edge in a last bin
// of its own. A column of categories has a bin for each, `edges` being the categories. Missing values have bin
// n_bins().
struct BoostColumn {
  std::vector<double> edges;   // ascending
  bool is_category = false, has_missing = false;
  std::int32_t n_bins() const { return static_cast<std::int32_t>(edges.size()) + (is_category ? 0 : 1); }
};

// Columns whose bytes lie side by side, a row after the other.
struct BoostGroup {
  std::int64_t first = 0;   // column
  int width = 0;
};
inline constexpr int kBoostGroup = 16;   // columns of a group at most, and bytes of one of its rows

struct BoostTable {
  std::int64_t n_rows = 0;
  std::vector<BoostColumn> columns;
  std::vector<std::uint8_t> codes;   // by column: codes[column * n_rows + row]
  std::vector<BoostGroup> groups;
  std::vector<std::uint8_t> packed;   // by group: packed[(group * n_rows + row) * kBoostGroup + column - first]
  std::int64_t n_cols() const { return static_cast<std::int64_t>(columns.size()); }
  const std::uint8_t* column(std::int64_t j) const { return codes.data() + j * n_rows; }
  const std::uint8_t* group(std::int64_t g) const { return packed.data() + g * n_rows * kBoostGroup; }
};

struct BoostBinning {
  int max_bins = 255;                          // of values, in addition to that of missing ones; at most 255
  std::span<const std::uint8_t> is_category;   // by column
  std::span<const std::int32_t> drawn;         // positions in `rows` whose values make the edges; empty: all
  std::span<const double> weights;             // by position in `rows`, for the edges; empty: 1 each
  bool packs = true;                           // whether `packed` is wanted
};

// Bins the rows of X that are named (host memory). Up to max_bins distinct values of a column have a bin each, parted
// in the middle; otherwise the edges are quantiles, the mean of two values where one lies between them. A category that
// `categories` does not name counts as missing. O(n log n) for each column. The same at any number of threads
// and of ranks, which divide the columns (BoostRanks): of the packed codes a rank has those of its own columns.
// categories: by column, ascending; empty for numbers.
template <class T>
BoostTable boost_table(MatrixView<const T> X, std::span<const std::int32_t> rows, const BoostBinning& binning,
                       const std::vector<std::vector<double>>& categories);

// The codes of other rows of X by the bins of a fit, with its columns; not packed.
template <class T>
BoostTable coded_rows(MatrixView<const T> X, std::span<const std::int32_t> rows,
                      const std::vector<BoostColumn>& columns);

// The distinct values of a column, ascending, without missing ones.
template <class T>
std::vector<double> distinct_values(MatrixView<const T> X, std::int64_t column);

// The edges of a column whose values lie elsewhere: between its distinct values, ascending, where they are at most
// max_bins; otherwise from those at the max_bins - 1 places of quantile_place(n, max_bins, i).
std::vector<double> value_edges(std::span<const double> distinct);
std::vector<double> quantile_edges(std::int64_t n, int max_bins, std::span<const double> low,
                                   std::span<const double> high);

// The edges of a column of numbers as T: of each the greatest T that is not above it. The places behind them are
// infinite.
template <class T>
std::array<T, 256> cell_edges(const BoostColumn& column);

}   // namespace kedge::engine
