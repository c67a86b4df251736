// Rows for an estimator: a shared table, dense or sparse, which of its rows, and a column-wise affine map that is applied only when read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/array.h"
#include "engine/core/context.h"
#include "engine/core/csr.h"

namespace kedge::engine {

template <class T>
struct Samples;
template <class T>
struct ColumnPart;

// A column as the data set declares it. A nominal cell of the table is the position of its category, a missing one NaN.
struct Feature {
  std::string name;
  std::vector<std::string> categories;   // of a nominal column, in declared order; empty: numeric
  bool is_nominal = false;
  friend bool operator==(const Feature&, const Feature&) = default;
};

// Smallest and largest value of each column; NaN is left out, and both are NaN where nothing is left.
struct Ranges {
  std::vector<double> minimum, maximum;
};

// A device-resident table and what is derived from it once, however many folds and steps read it.
template <class T>
struct Table {
  Matrix<T> X;                                  // empty where the table is sparse
  std::optional<CsrMatrix<T>> sparse = {};      // what a sparse table holds
  std::vector<Feature> features = {};           // one per column; empty for what a transformer made without naming it
  std::unique_ptr<BinnedTable> binned = {};     // made on first use by binned_table()
  std::optional<bool> is_finite = {};           // made on first use by require_finite()
  std::optional<Ranges> ranges = {};            // of all rows, made on first use by table_ranges()
  std::vector<ColumnPart<T>> parts = {};        // made on first use by column_part()
  std::shared_ptr<Table> dense = {};            // of a sparse table, made on first use by densified()

  std::int64_t n_rows() const { return sparse ? sparse->rows() : X.rows(); }
  std::int64_t n_cols() const { return sparse ? sparse->cols() : X.cols(); }
  // "'age'", or "3" for a column without a name.
  std::string column_label(std::int64_t column) const;
};

// Some columns of a table as a table of their own, kept because every fold and every fit reads it.
template <class T>
struct ColumnPart {
  std::vector<std::int64_t> columns;
  std::shared_ptr<Table<T>> table;
};

// Some columns of X, in that order: its own table if that is all of them, otherwise a part that is copied once, for any
// rows. Columns without names are called x0, x1 ... after their place in X.
template <class T>
Samples<T> column_part(const Context& ctx, const Samples<T>& X, const std::vector<std::int64_t>& columns);

// The features of a table; x0, x1 ... where it has none.
template <class T>
std::vector<Feature> features_of(const Table<T>& table);

// Errors: kBadData "OWNER: column 'sex' is nominal ..." if X has a nominal column.
template <class T>
void require_numeric(std::string_view owner, const Samples<T>& X);

// A value of a table that is NaN or infinite: the first by row, in a sparse table the first of the entries.
struct Nonfinite {
  Cell cell;
  double value;
};
template <class T>
std::optional<Nonfinite> first_nonfinite(const Context& ctx, const Table<T>& table);

// Errors: kBadData "OWNER: column 'age', row 17 is NaN ..." for the first NaN or infinity of the table that X reads. The answer is kept.
template <class T>
void require_finite(const Context& ctx, std::string_view owner, const Samples<T>& X);

template <class T>
const BinnedTable& binned_table(const Context& ctx, Table<T>& table);

// Value semantics: copying shares the table. Folds are Samples over one table with different rows; StandardScaler returns its
// input with another affine map, so that it moves no data. Shared ownership because folds and steps end in any order.
template <class T>
struct Samples {
  std::shared_ptr<Table<T>> table;
  std::shared_ptr<const Array<std::int32_t>> rows;   // null: all rows
  std::vector<double> shift, scale;                  // x' = (x - shift) * scale by column, host; empty: identity
  std::string content = {};                          // names these values within Context::work; empty: work on them is not shared

  std::int64_t n_rows() const { return rows ? rows->size() : table->n_rows(); }
  std::int64_t n_cols() const { return table->n_cols(); }
  bool is_sparse() const { return table->sparse.has_value(); }
  VectorView<const std::int32_t> row_view() const { return rows ? rows->view() : VectorView<const std::int32_t>(); }
  bool is_affine() const { return !shift.empty(); }

  // These samples followed by x' = (x - shift) * scale, one value of each a column; no scale may be 0. Moves no data. A sparse
  // table may be read with a shift, as dense blocks, but not by what takes sparse samples.
  Samples then(const std::vector<double>& next_shift, const std::vector<double>& next_scale) const;
  // The values as a (dense) matrix: the table itself where nothing has to change, otherwise gathered into `scratch`.
  MatrixView<const T> values(const Context& ctx, Matrix<T>& scratch) const;
  // The same for rows first .. first + count - 1 of these samples.
  MatrixView<const T> values(const Context& ctx, std::int64_t first, std::int64_t count, Matrix<T>& scratch) const;
};

// Rows that are gathered in double and used together: `least`, which stay in a processor's cache, or as many as the
// device wants.
inline std::int64_t block_rows(const Context& ctx, std::int64_t least, std::int64_t n_cols) {
  const std::int64_t row_bytes = std::max<std::int64_t>(n_cols, 1) * static_cast<std::int64_t>(sizeof(double));
  return std::max(least, ctx.device.traits().block_bytes / row_bytes);
}

// The values in host memory, row after row.
template <class T>
std::vector<double> host_values(const Context& ctx, const Samples<T>& X);

// A matrix that a transformer made, as samples: all of its rows, no affine map.
template <class T>
Samples<T> samples_of(Matrix<T> X, std::vector<Feature> features = {});

// A sparse matrix that a transformer made, as samples.
template <class T>
Samples<T> samples_of(CsrMatrix<T> X, std::vector<Feature> features = {});

// Samples of a dense table: X itself, or the same rows of a copy that is made once for its sparse table. Errors: kBadData "OWNER
// takes no sparse data ..." for a table beyond kMostDenseCells.
inline constexpr std::int64_t kMostDenseCells = std::int64_t{1} << 27;   // 1 GiB in float64
template <class T>
Samples<T> densified(const Context& ctx, std::string_view owner, const Samples<T>& X);

// Mean and population variance of each column (of the mapped values), on the host.
struct Moments {
  std::vector<double> mean, variance;
};
template <class T>
Moments column_moments(const Context& ctx, const Samples<T>& X);
// Variance of all values at once, times the number of columns.
double total_variance(const Moments& moments);
// The mean alone, in one pass where the samples are dense.
template <class T>
std::vector<double> column_means(const Context& ctx, const Samples<T>& X);

// Of the mapped values, on the host.
template <class T>
Ranges column_ranges(const Context& ctx, const Samples<T>& X);
// The same of all rows of the table, and so never narrower. Read once a table.
template <class T>
Ranges table_ranges(const Context& ctx, const Samples<T>& X);

}  // namespace kedge::engine
