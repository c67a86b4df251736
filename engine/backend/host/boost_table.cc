// Bins a table for boosting: a group of columns for each task, each column sorted by radix and then mapped by a search
// in vectors. Ranks divide the columns.
#include "engine/backend/host/boost_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/backend/boost_functors.h"
#include "engine/backend/host/boost_ranks.h"
#include "engine/backend/host/row_chunks.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBinNs = 12;   // a cell, sorted and mapped

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Bits in the order of the values; -0 is 0.
template <class T>
Bits<T> to_ordered(T value) {
  const auto bits = std::bit_cast<Bits<T>>(value + T{0});
  constexpr Bits<T> kSign = Bits<T>{1} << (sizeof(T) * 8 - 1);
  return bits & kSign ? ~bits : bits | kSign;
}
template <class T>
double from_ordered(Bits<T> key) {
  constexpr Bits<T> kSign = Bits<T>{1} << (sizeof(T) * 8 - 1);
  return static_cast<double>(
      std::bit_cast<T>(key & kSign ? static_cast<Bits<T>>(key & ~kSign) : static_cast<Bits<T>>(~key)));
}

// By digits of 11 bits; a digit that all keys share costs nothing but its count.
template <class Key>
void radix_sort(std::vector<Key>& keys, std::vector<Key>& scratch) {
  constexpr unsigned kDigit = 11, kDigits = (sizeof(Key) * 8 + kDigit - 1) / kDigit, kSize = 1U << kDigit;
  static_assert(kDigits <= 6);
  std::vector<std::array<std::uint32_t, kSize>> counts(kDigits);
  for (const Key key : keys)
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d][(key >> (d * kDigit)) & (kSize - 1)];
  scratch.resize(keys.size());
  for (unsigned d = 0; d < kDigits; ++d) {
    std::array<std::uint32_t, kSize>& start = counts[d];
    if (std::ranges::find(start, keys.size()) != start.end()) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& count : start) count = std::exchange(sum, sum + count);
    for (const Key key : keys) scratch[start[(key >> (d * kDigit)) & (kSize - 1)]++] = key;
    keys.swap(scratch);
  }
}

// Middles of ascending values.
std::vector<double> middles(std::span<const double> values) {
  std::vector<double> edges;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) edges.push_back((values[i] + values[i + 1]) / 2);
  return edges;
}

double quantile_edge(const QuantilePlace& place, double low, double high) {
  return place.is_between ? high - (high - low) * 0.5 : high;
}

// Equal ones are one; an infinite one would take missing values.
void tidy(std::vector<double>& edges) {
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (double& edge : edges) edge = std::min(edge, std::numeric_limits<double>::max());
}

// Where values have weights: the first at which the weights up to it reach the share, or its middle with the
// next.
struct WeightedValue {
  double value, weight;
};
std::vector<double> weighted_quantiles(const std::vector<WeightedValue>& sorted, int max_bins) {
  std::vector<double> reached, edges;
  for (double sum = 0; const WeightedValue& item : sorted) reached.push_back(sum += item.weight);
  const double step = 100.0 / max_bins;
  for (int i = 1; i < max_bins; ++i) {
    const double rank = i * step / 100 * reached.back();
    const auto at = std::min<std::size_t>(
        static_cast<std::size_t>(std::ranges::lower_bound(reached, rank) - reached.begin()), sorted.size() - 1);
    const double value = sorted[at].value, next = sorted[std::min(at + 1, sorted.size() - 1)].value;
    edges.push_back(reached[at] - rank > std::numeric_limits<double>::epsilon() ? value : (value + next) / 2);
  }
  return edges;
}

// The number of edges below each value, by halving in steps that do not depend on the values; edges has 256 places, the
// last infinite.
template <class T>
inline __attribute__((always_inline)) void count_edges(const T* values, std::int64_t n, const T* edges,
                                                       std::uint8_t missing, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T value = values[i];
    std::int32_t at = 0;
    for (std::int32_t step = 128; step > 0; step /= 2) at += edges[at + step - 1] < value ? step : 0;
    codes[i] = value != value ? missing : static_cast<std::uint8_t>(at);
  }
}
KEDGE_CLONES void count_edges_f32(const float* values, std::int64_t n, const float* edges, std::uint8_t missing,
                                  std::uint8_t* codes) {
  count_edges(values, n, edges, missing, codes);
}
KEDGE_CLONES void count_edges_f64(const double* values, std::int64_t n, const double* edges, std::uint8_t missing,
                                  std::uint8_t* codes) {
  count_edges(values, n, edges, missing, codes);
}

template <class T>
class ColumnBinner {
 public:
  explicit ColumnBinner(const BoostBinning& binning) : binning_(binning) {}

  void find_edges(std::span<const T> values, BoostColumn& column) {
    column.edges = binning_.weights.empty() || !binning_.drawn.empty() ? edges_of(values) : weighted_edges_of(values);
    tidy(column.edges);
  }

  void code_values(std::span<const T> values, BoostColumn& column, std::uint8_t* codes) {
    if (column.is_category) return code_categories(values, column, codes);
    const std::array<T, 256> edges = cell_edges<T>(column);
    const auto missing = static_cast<std::uint8_t>(column.n_bins());
    const auto n = static_cast<std::int64_t>(values.size());
    if constexpr (sizeof(T) == 4) count_edges_f32(values.data(), n, edges.data(), missing, codes);
    else count_edges_f64(values.data(), n, edges.data(), missing, codes);
    column.has_missing = std::find(codes, codes + n, missing) != codes + n;
  }

 private:
  void code_categories(std::span<const T> values, BoostColumn& column, std::uint8_t* codes) const {
    const std::vector<double>& known = column.edges;
    const auto missing = static_cast<std::uint8_t>(known.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = std::ranges::lower_bound(known, static_cast<double>(values[i]));
      const bool is_known = at != known.end() && *at == static_cast<double>(values[i]);
      codes[i] = is_known ? static_cast<std::uint8_t>(at - known.begin()) : missing;
      column.has_missing |= !is_known;
    }
  }

  std::vector<double> edges_of(std::span<const T> values) {
    keys_.clear();
    const auto take = [&](T value) {
      if (value == value) keys_.push_back(to_ordered(value));
    };
    if (binning_.drawn.empty())
      for (const T value : values) take(value);
    else
      for (const std::int32_t i : binning_.drawn) take(values[static_cast<std::size_t>(i)]);
    radix_sort(keys_, scratch_);
    std::vector<double> distinct;
    for (std::size_t i = 0; i < keys_.size() && distinct.size() <= static_cast<std::size_t>(binning_.max_bins); ++i)
      if (i == 0 || keys_[i] != keys_[i - 1]) distinct.push_back(from_ordered<T>(keys_[i]));
    if (distinct.size() <= static_cast<std::size_t>(binning_.max_bins)) return middles(distinct);
    std::vector<double> edges;
    for (int i = 1; i < binning_.max_bins; ++i) {
      const QuantilePlace place = quantile_place(std::ssize(keys_), binning_.max_bins, i);
      edges.push_back(quantile_edge(place, from_ordered<T>(keys_[place.low]), from_ordered<T>(keys_[place.high])));
    }
    return edges;
  }

  std::vector<double> weighted_edges_of(std::span<const T> values) const {
    std::vector<WeightedValue> sorted;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] == values[i] && binning_.weights[i] != 0)
        sorted.push_back({static_cast<double>(values[i]), binning_.weights[i]});
    std::ranges::stable_sort(sorted, {}, &WeightedValue::value);
    std::vector<double> distinct;
    for (const WeightedValue& item : sorted)
      if (distinct.empty() || distinct.back() != item.value) distinct.push_back(item.value);
    return distinct.size() <= static_cast<std::size_t>(binning_.max_bins)
               ? middles(distinct)
               : weighted_quantiles(sorted, binning_.max_bins);
  }

  const BoostBinning& binning_;
  std::vector<Bits<T>> keys_, scratch_;
};

// Groups of equal width; with many threads more of them, so that each has one.
std::vector<BoostGroup> groups_of(std::int64_t n_cols) {
  const std::int64_t wanted = std::min<std::int64_t>((n_cols + 3) / 4, omp_get_max_threads());
  const std::int64_t n = std::max<std::int64_t>((n_cols + kBoostGroup - 1) / kBoostGroup, wanted);
  std::vector<BoostGroup> groups;
  for (std::int64_t g = 0; g < n; ++g) {
    const std::int64_t first = g * n_cols / n;
    groups.push_back({first, static_cast<int>((g + 1) * n_cols / n - first)});
  }
  return groups;
}

// The values of the columns of a piece, column by column: reading them row by row reads memory once.
template <class T>
std::vector<T> columns_of(MatrixView<const T> X, std::span<const std::int32_t> rows, const BoostPiece& piece) {
  const std::int64_t n = rows.empty() ? X.rows : static_cast<std::int64_t>(rows.size());
  std::vector<T> values(static_cast<std::size_t>(n * piece.width));
  for (std::int64_t i = 0; i < n; ++i) {
    const T* const row =
        raw(X) + (rows.empty() ? i : std::int64_t{rows[static_cast<std::size_t>(i)]}) * X.stride + piece.first;
    for (int j = 0; j < piece.width; ++j) values[static_cast<std::size_t>(j * n + i)] = row[j];
  }
  return values;
}

void pack(const BoostPiece& piece, BoostTable& table) {
  std::uint8_t* const out = table.packed.data() + piece.group * table.n_rows * kBoostGroup +
                            (piece.first - table.groups[static_cast<std::size_t>(piece.group)].first);
  for (std::int64_t begin = 0; begin < table.n_rows; begin += 1024)   // stays in the first-level cache
    for (int j = 0; j < piece.width; ++j) {
      const std::uint8_t* const codes = table.column(piece.first + j);
      for (std::int64_t i = begin; i < std::min(table.n_rows, begin + 1024); ++i) out[i * kBoostGroup + j] = codes[i];
    }
}

}   // namespace

template <class T>
BoostTable boost_table(MatrixView<const T> X, std::span<const std::int32_t> rows, const BoostBinning& binning,
                       const std::vector<std::vector<double>>& categories) {
  BoostTable table;
  table.n_rows = rows.empty() ? X.rows : static_cast<std::int64_t>(rows.size());
  table.columns.resize(static_cast<std::size_t>(X.cols));
  table.groups = groups_of(X.cols);
  table.codes.resize(static_cast<std::size_t>(table.n_rows * X.cols));
  if (binning.packs) table.packed.resize(table.groups.size() * static_cast<std::size_t>(table.n_rows * kBoostGroup));
  const auto bin = [&](const BoostPiece& piece) {
    const std::vector<T> values = columns_of(X, rows, piece);
    ColumnBinner<T> binner(binning);
    for (int j = 0; j < piece.width; ++j) {
      check_job_stop();
      const auto col = static_cast<std::size_t>(piece.first + j);
      BoostColumn& column = table.columns[col];
      const std::span<const T> own(values.data() + j * table.n_rows, static_cast<std::size_t>(table.n_rows));
      column.is_category = !binning.is_category.empty() && binning.is_category[col];
      if (column.is_category) column.edges = categories[col];
      else binner.find_edges(own, column);
      binner.code_values(own, column, table.codes.data() + static_cast<std::int64_t>(col) * table.n_rows);
    }
    if (binning.packs) pack(piece, table);
  };
  const BoostRanks ranks(table);
  const auto bin_own = [&] {
    for_tasks(std::ssize(ranks.own()), table.n_rows * X.cols * kBinNs,
              [&](std::int64_t i) { bin(ranks.own()[static_cast<std::size_t>(i)]); });
  };
  ranks.share_bins(bin_own, table);
  return table;
}

template <class T>
BoostTable coded_rows(MatrixView<const T> X, std::span<const std::int32_t> rows,
                      const std::vector<BoostColumn>& columns) {
  BoostTable table;
  table.n_rows = rows.empty() ? X.rows : static_cast<std::int64_t>(rows.size());
  table.columns = columns, table.groups = groups_of(X.cols);
  table.codes.resize(static_cast<std::size_t>(table.n_rows * X.cols));
  const BoostBinning no_binning;
  for_tasks(std::ssize(table.groups), table.n_rows * X.cols * kBinNs, [&](std::int64_t g) {
    const BoostGroup group = table.groups[static_cast<std::size_t>(g)];
    const std::vector<T> values = columns_of(X, rows, BoostPiece{g, group.first, group.width});
    ColumnBinner<T> binner(no_binning);
    for (int j = 0; j < group.width; ++j) {
      BoostColumn column = columns[static_cast<std::size_t>(group.first + j)];   // has_missing stays that of the fit
      binner.code_values({values.data() + j * table.n_rows, static_cast<std::size_t>(table.n_rows)}, column,
                         table.codes.data() + (group.first + j) * table.n_rows);
    }
  });
  return table;
}

template <class T>
std::vector<double> distinct_values(MatrixView<const T> X, std::int64_t column) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < X.rows; ++i)
    if (const T value = raw(X)[i * X.stride + column]; value == value)
      values.push_back(static_cast<double>(value) + 0.0);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<double> value_edges(std::span<const double> distinct) {
  std::vector<double> edges = middles(distinct);
  tidy(edges);
  return edges;
}

std::vector<double> quantile_edges(std::int64_t n, int max_bins, std::span<const double> low,
                                   std::span<const double> high) {
  std::vector<double> edges;
  for (int i = 1; i < max_bins; ++i)
    edges.push_back(quantile_edge(quantile_place(n, max_bins, i), low[i - 1], high[i - 1]));
  tidy(edges);
  return edges;
}

template <class T>
std::array<T, 256> cell_edges(const BoostColumn& column) {
  std::array<T, 256> edges;
  edges.fill(std::numeric_limits<T>::infinity());
  for (std::size_t i = 0; i < column.edges.size(); ++i) {
    const double edge = column.edges[i];
    edges[i] = static_cast<T>(edge);
    if (static_cast<double>(edges[i]) > edge) edges[i] = std::nextafter(edges[i], -std::numeric_limits<T>::infinity());
  }
  return edges;
}

template std::array<float, 256> cell_edges(const BoostColumn&);
template std::array<double, 256> cell_edges(const BoostColumn&);
template BoostTable boost_table(MatrixView<const float>, std::span<const std::int32_t>, const BoostBinning&,
                                const std::vector<std::vector<double>>&);
template BoostTable boost_table(MatrixView<const double>, std::span<const std::int32_t>, const BoostBinning&,
                                const std::vector<std::vector<double>>&);
template BoostTable coded_rows(MatrixView<const float>, std::span<const std::int32_t>, const std::vector<BoostColumn>&);
template BoostTable coded_rows(MatrixView<const double>, std::span<const std::int32_t>,
                               const std::vector<BoostColumn>&);
template std::vector<double> distinct_values(MatrixView<const float>, std::int64_t);
template std::vector<double> distinct_values(MatrixView<const double>, std::int64_t);

}   // namespace kedge::engine
