// The nearest rows that have a value in each missing column of one row, found as the rows come block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kedge::engine {

// What a row is searched for: the fitted rows. Borrows them. One thread at a time.
class NearestDonors {
 public:
  using Donor = std::pair<double, std::size_t>;   // mean squared difference of the columns in common, row

  // `rows`: row-major, NaN where a value is missing.
  NearestDonors(const std::vector<double>& rows, std::size_t n_columns, std::size_t n_neighbors)
      : rows_(rows), n_columns_(n_columns), n_neighbors_(n_neighbors) {}

  // A row that misses the values of these columns; no row has been met yet.
  void start(std::vector<std::size_t> columns);
  // Rows first .. first + n - 1, each by the sum of squared differences over the columns in common and by their number.
  // Blocks come in the order of the rows.
  void meet(std::size_t first, const double* squares, const double* counts, std::size_t n);

  const std::vector<std::size_t>& columns() const { return columns_; }
  // The nearest of those met that have a value in columns()[c], in the order of the rows; of those at the same distance
  // the first rows. Fewer than n_neighbors where fewer have one.
  const std::vector<Donor>& nearest(std::size_t c);

 private:
  void take(std::size_t row, double distance);

  const std::vector<double>& rows_;
  std::size_t n_columns_, n_neighbors_;
  std::vector<std::size_t> columns_;
  std::vector<std::vector<Donor>> heaps_;   // by column, the furthest first
  double limit_ = 0;                        // no row at this distance or further is wanted by any column
};

// How many columns rows have in common, from a bit for each column that a row has.
class ColumnMasks {
 public:
  // `rows`: row-major, NaN where a value is missing.
  ColumnMasks(std::span<const double> rows, std::size_t n_columns);
  // counts[i] = the columns that row `own` of `other` has in common with row first + i, i < n.
  void common(const ColumnMasks& other, std::size_t own, std::size_t first, std::size_t n, double* counts) const;

 private:
  std::size_t n_words_;
  std::vector<std::uint64_t> words_;   // of a row, one behind the other
};

}   // namespace kedge::engine
