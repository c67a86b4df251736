// Reads samples: gathers selected rows through the affine map, and carries column statistics through it.
#include "engine/estimators/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/linked_tables.h"
#include "engine/comm/ranks.h"
#include "engine/core/lane.h"
#include "engine/core/require.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {

template <class T>
std::string Table<T>::column_label(std::int64_t column) const {
  if (features.empty()) return std::to_string(column);
  return "'" + features[static_cast<std::size_t>(column)].name + "'";
}

template <class T>
std::optional<Nonfinite> first_nonfinite(const Context& ctx, const Table<T>& table) {
  const MatrixView<const T> values =
      table.sparse ? MatrixView<const T>(table.sparse->view().values.data, table.sparse->n_entries(), 1) : table.X.view();
  const std::optional<Cell> found = ctx.ops<T>().tables->find_nonfinite(values);
  if (!found) return std::nullopt;
  T value;
  ctx.memory().to_host(&value, values.data + found->row * values.stride + found->col, sizeof(T));
  if (!table.sparse) return Nonfinite{*found, static_cast<double>(value)};
  const CsrView<const T> entries = table.sparse->view();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(entries.offsets.size));
  ctx.memory().to_host(offsets.data(), entries.offsets.data, offsets.size() * sizeof(std::int64_t));
  std::int32_t column = 0;
  ctx.memory().to_host(&column, entries.columns.data + found->row, sizeof column);
  const auto row = std::ranges::upper_bound(offsets, found->row) - offsets.begin() - 1;
  return Nonfinite{{row, column}, static_cast<double>(value)};
}

template <class T>
void require_finite(const Context& ctx, std::string_view owner, const Samples<T>& X) {
  Table<T>& table = *X.table;
  if (table.is_finite && *table.is_finite) return;
  const std::optional<Nonfinite> found = first_nonfinite(ctx, table);
  if (!table.is_finite) table.is_finite = !found;   // known already it may be read by another lane
  if (!found) return;
  const Cell* const cell = &found->cell;
  const double value = found->value;
  require(false, schema::ErrorCode::kBadData, "{}: column {}, row {} (both counted from 0) is {}, must be a finite number", owner,
          table.column_label(cell->col), cell->row, std::isnan(value) ? "missing (NaN)" : "infinite");
}

template <class T>
std::vector<Feature> features_of(const Table<T>& table) {
  if (!table.features.empty()) return table.features;
  std::vector<Feature> features;
  for (std::int64_t j = 0; j < table.n_cols(); ++j) features.push_back({.name = "x" + std::to_string(j)});
  return features;
}

template <class T>
void require_numeric(std::string_view owner, const Samples<T>& X) {
  for (const Feature& feature : X.table->features)
    require(!feature.is_nominal, schema::ErrorCode::kBadData,
            "{}: column '{}' is nominal, must be numeric: encode it first (OneHotEncoder, OrdinalEncoder)", owner, feature.name);
}

namespace {

template <class T>
std::shared_ptr<Table<T>> copied_columns(const Context& ctx, const Table<T>& table, const std::vector<std::int64_t>& columns) {
  const std::vector<std::int32_t> places(columns.begin(), columns.end());
  const Array<std::int32_t> device_places(ctx.memory(), std::span<const std::int32_t>(places));
  auto part = std::make_shared<Table<T>>();
  part->X = table_matrix<T>(ctx.device, table.X.rows(), static_cast<std::int64_t>(columns.size()));
  ctx.ops<T>().categories->take_columns(table.X.view(), {}, device_places.view(), part->X.view());
  const std::vector<Feature> features = features_of(table);
  for (const std::int64_t j : columns) part->features.push_back(features[static_cast<std::size_t>(j)]);
  if (table.is_finite == true) part->is_finite = true;
  return part;
}

bool is_everything(const std::vector<std::int64_t>& columns, std::int64_t n_cols) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (columns[c] != static_cast<std::int64_t>(c)) return false;
  return static_cast<std::int64_t>(columns.size()) == n_cols;
}

}  // namespace

template <class T>
Samples<T> column_part(const Context& ctx, const Samples<T>& X, const std::vector<std::int64_t>& columns) {
  if (is_everything(columns, X.n_cols())) return X;
  std::vector<ColumnPart<T>>& parts = X.table->parts;
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const ColumnPart<T>& part) { return part.columns == columns; });
  const auto table = found == parts.end() ? copied_columns(ctx, *X.table, columns) : found->table;
  // Others of the table's parts are dropped by the fit that asked for them, and so a lane keeps none where another
  // lane sees it.
  if (found == parts.end() && !in_lane()) parts.push_back({columns, table});
  Samples<T> part{.table = table, .rows = X.rows, .shift = {}, .scale = {}};
  for (std::size_t c = 0; X.is_affine() && c < columns.size(); ++c) {
    part.shift.push_back(X.shift[static_cast<std::size_t>(columns[c])]);
    part.scale.push_back(X.scale[static_cast<std::size_t>(columns[c])]);
  }
  return part;
}

template <class T>
const BinnedTable& binned_table(const Context& ctx, Table<T>& table) {
  make_once(
      &table, ctx.memory(), [&] { return table.binned != nullptr; },
      [&] { table.binned = std::make_unique<BinnedTable>(ctx.device.trees().bin(std::as_const(table.X).view())); });
  return *table.binned;
}

// (x - s) * a, then (x' - t) * b, is (x - (s + t / a)) * (a * b).
template <class T>
Samples<T> Samples<T>::then(const std::vector<double>& next_shift, const std::vector<double>& next_scale) const {
  Samples result = *this;
  result.content.clear();
  if (!is_affine()) {
    result.shift = next_shift, result.scale = next_scale;
    return result;
  }
  for (std::size_t j = 0; j < shift.size(); ++j) {
    result.shift[j] += next_shift[j] / scale[j];
    result.scale[j] *= next_scale[j];
  }
  return result;
}

namespace {

template <class T>
MatrixView<const T> dense_block(const Context& ctx, const Samples<T>& X, std::int64_t first, std::int64_t count, Matrix<T>& scratch) {
  if (scratch.rows() < count || scratch.cols() != X.n_cols()) scratch = table_matrix<T>(ctx.device, count, X.n_cols());
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)), scale(ctx.memory(), std::span<const double>(X.scale));
  const MatrixView<T> out = scratch.view().row_range(0, count);
  CsrView<const T> source = std::as_const(*X.table->sparse).view();
  if (!X.rows) source.offsets = source.offsets.slice(first, count + 1), source.rows = count;
  if (count > 0)
    ctx.ops<T>().sparse->to_dense(source,
                                  X.rows ? X.rows->view().slice(first, count) : VectorView<const std::int32_t>(),
                                  shift.view(), scale.view(), out);
  return out;
}

}  // namespace

template <class T>
MatrixView<const T> Samples<T>::values(const Context& ctx, Matrix<T>& scratch) const {
  return values(ctx, 0, n_rows(), scratch);
}

template <class T>
MatrixView<const T> Samples<T>::values(const Context& ctx, std::int64_t first, std::int64_t count,
                                       Matrix<T>& scratch) const {
  if (is_sparse()) return dense_block(ctx, *this, first, count, scratch);
  const MatrixView<const T> all = std::as_const(table->X).view();
  const MatrixView<const T> source = rows ? all : all.row_range(first, count);
  if (!rows && !is_affine()) return source;
  if (scratch.rows() < count || scratch.cols() != n_cols()) scratch = table_matrix<T>(ctx.device, count, n_cols());
  const Array<double> device_shift(ctx.memory(), std::span<const double>(shift));
  const Array<double> device_scale(ctx.memory(), std::span<const double>(scale));
  const MatrixView<T> out = scratch.view().row_range(0, count);
  ctx.ops<T>().tables->gather(source, rows ? rows->view().slice(first, count) : VectorView<const std::int32_t>(),
                              device_shift.view(), device_scale.view(), out);
  return out;
}

template <class T>
Samples<T> samples_of(Matrix<T> X, std::vector<Feature> features) {
  Samples<T> samples;
  samples.table = std::make_shared<Table<T>>();
  samples.table->X = std::move(X);
  samples.table->features = std::move(features);
  return samples;
}

template <class T>
Samples<T> samples_of(CsrMatrix<T> X, std::vector<Feature> features) {
  Samples<T> samples;
  samples.table = std::make_shared<Table<T>>();
  samples.table->sparse = std::move(X);
  samples.table->features = std::move(features);
  return samples;
}

template <class T>
Samples<T> densified(const Context& ctx, std::string_view owner, const Samples<T>& X) {
  if (!X.is_sparse()) return X;
  Table<T>& table = *X.table;
  const std::int64_t n = table.n_rows(), d = table.n_cols();
  require(d == 0 || n <= kMostDenseCells / d, schema::ErrorCode::kBadData,
          "{} takes no sparse data, and {} rows x {} columns are more than the {} values that are made dense for it; reduce the columns "
          "first (TruncatedSVD, SelectKBest)",
          owner, n, d, kMostDenseCells);
  const auto make_dense = [&] {
    auto dense = std::make_shared<Table<T>>();
    dense->X = table_matrix<T>(ctx.device, n, d);
    ctx.ops<T>().sparse->to_dense(std::as_const(*table.sparse).view(), {}, {}, {}, dense->X.view());
    dense->features = table.features;
    dense->is_finite = table.is_finite;
    table.dense = std::move(dense);
  };
  make_once(&table, ctx.memory(), [&] { return table.dense != nullptr; }, make_dense);
  Samples<T> dense = X;
  dense.table = table.dense;
  return dense;
}

double total_variance(const Moments& moments) {
  const auto n_cols = static_cast<double>(moments.mean.size());
  double mean = 0, variance = 0;
  for (const double m : moments.mean) mean += m / n_cols;
  for (std::size_t j = 0; j < moments.mean.size(); ++j)
    variance += moments.variance[j] + (moments.mean[j] - mean) * (moments.mean[j] - mean);
  return variance;
}

template <class T>
Moments column_moments(const Context& ctx, const Samples<T>& X) {
  Array<double> mean(ctx.memory(), X.n_cols()), variance(ctx.memory(), X.n_cols());
  if (X.is_sparse()) ctx.ops<T>().sparse->moments(unscaled_columns(ctx, X).view(), {}, mean.view(), variance.view());
  else
    ctx.ops<T>().tables->column_moments(std::as_const(X.table->X).view(), X.row_view(), {}, mean.view(),
                                        variance.view());
  Moments moments{mean.to_host(), variance.to_host()};
  for (std::size_t j = 0; j < X.shift.size(); ++j) {
    moments.mean[j] = (moments.mean[j] - X.shift[j]) * X.scale[j];
    moments.variance[j] *= X.scale[j] * X.scale[j];
  }
  return moments;
}

template <class T>
std::vector<double> column_means(const Context& ctx, const Samples<T>& X) {
  if (X.is_sparse()) return column_moments(ctx, X).mean;
  Array<double> device_mean(ctx.memory(), X.n_cols());
  ctx.ops<T>().tables->column_moments(std::as_const(X.table->X).view(), X.row_view(), {}, device_mean.view(), {});
  std::vector<double> mean = device_mean.to_host();
  for (std::size_t j = 0; j < X.shift.size(); ++j) mean[j] = (mean[j] - X.shift[j]) * X.scale[j];
  return mean;
}

namespace {

// Ranges of the table's values, through the affine map.
template <class T>
void map_ranges(const Samples<T>& X, Ranges& ranges) {
  for (std::size_t j = 0; j < X.shift.size(); ++j) {
    ranges.minimum[j] = (ranges.minimum[j] - X.shift[j]) * X.scale[j];
    ranges.maximum[j] = (ranges.maximum[j] - X.shift[j]) * X.scale[j];
    if (X.scale[j] < 0) std::swap(ranges.minimum[j], ranges.maximum[j]);
  }
}

}  // namespace

template <class T>
Ranges column_ranges(const Context& ctx, const Samples<T>& X) {
  Array<T> low(ctx.memory(), X.n_cols()), high(ctx.memory(), X.n_cols());
  if (X.is_sparse()) ctx.ops<T>().sparse->range(unscaled_columns(ctx, X).view(), low.view(), high.view());
  else ctx.ops<T>().tables->column_range(std::as_const(X.table->X).view(), X.row_view(), low.view(), high.view());
  const std::vector<T> minimum = low.to_host(), maximum = high.to_host();
  Ranges ranges{{minimum.begin(), minimum.end()}, {maximum.begin(), maximum.end()}};
  for (std::size_t j = 0; j < minimum.size(); ++j)
    if (minimum[j] > maximum[j]) ranges.minimum[j] = ranges.maximum[j] = std::numeric_limits<double>::quiet_NaN();
  map_ranges(X, ranges);
  return ranges;
}

template <class T>
Ranges table_ranges(const Context& ctx, const Samples<T>& X) {
  const Samples<T> all{.table = X.table, .rows = {}, .shift = {}, .scale = {}};
  Ranges ranges;
  if (ranks_of_row_sums()) {   // they read together, whatever one of them remembers of its table
    ranges = column_ranges(ctx, all);
  } else {
    make_once(
        X.table.get(), ctx.memory(), [&] { return X.table->ranges.has_value(); },
        [&] { X.table->ranges = column_ranges(ctx, all); });
    ranges = *X.table->ranges;
  }
  map_ranges(X, ranges);
  return ranges;
}

template <class T>
std::vector<double> host_values(const Context& ctx, const Samples<T>& X) {
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  if (values.size() == 0) return {};
  std::vector<T> rows(static_cast<std::size_t>((values.rows - 1) * values.stride + values.cols));
  ctx.memory().to_host(rows.data(), values.data, rows.size() * sizeof(T));
  std::vector<double> host;
  host.reserve(static_cast<std::size_t>(values.size()));
  for (std::int64_t i = 0; i < values.rows; ++i) {
    const T* const row = rows.data() + i * values.stride;
    host.insert(host.end(), row, row + values.cols);
  }
  return host;
}

template const BinnedTable& binned_table(const Context&, Table<float>&);
template const BinnedTable& binned_table(const Context&, Table<double>&);
template struct Table<float>;
template struct Table<double>;
template void require_finite(const Context&, std::string_view, const Samples<float>&);
template void require_finite(const Context&, std::string_view, const Samples<double>&);
template std::optional<Nonfinite> first_nonfinite(const Context&, const Table<float>&);
template std::optional<Nonfinite> first_nonfinite(const Context&, const Table<double>&);
template Samples<float> densified(const Context&, std::string_view, const Samples<float>&);
template Samples<double> densified(const Context&, std::string_view, const Samples<double>&);
template struct Samples<float>;
template struct Samples<double>;
template std::vector<double> host_values(const Context&, const Samples<float>&);
template std::vector<double> host_values(const Context&, const Samples<double>&);
template Samples<float> samples_of(Matrix<float>, std::vector<Feature>);
template Samples<double> samples_of(Matrix<double>, std::vector<Feature>);
template Samples<float> samples_of(CsrMatrix<float>, std::vector<Feature>);
template Samples<double> samples_of(CsrMatrix<double>, std::vector<Feature>);
template Samples<float> column_part(const Context&, const Samples<float>&, const std::vector<std::int64_t>&);
template Samples<double> column_part(const Context&, const Samples<double>&, const std::vector<std::int64_t>&);
template std::vector<Feature> features_of(const Table<float>&);
template std::vector<Feature> features_of(const Table<double>&);
template void require_numeric(std::string_view, const Samples<float>&);
template void require_numeric(std::string_view, const Samples<double>&);
template Moments column_moments(const Context&, const Samples<float>&);
template Moments column_moments(const Context&, const Samples<double>&);
template std::vector<double> column_means(const Context&, const Samples<float>&);
template std::vector<double> column_means(const Context&, const Samples<double>&);
template Ranges column_ranges(const Context&, const Samples<float>&);
template Ranges table_ranges(const Context&, const Samples<float>&);
template Ranges table_ranges(const Context&, const Samples<double>&);
template Ranges column_ranges(const Context&, const Samples<double>&);

}  // namespace kedge::engine
