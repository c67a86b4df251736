// Quantiles and moments of columns: the ops where all rows weigh the same, the host where they do not.
#include "engine/estimators/preprocessing/column_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/backend/linked_tables.h"
#include "engine/core/require.h"
#include "engine/estimators/magnitudes.h"
#include "engine/estimators/own_values.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {

std::vector<double> linspace(double low, double high, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const double parts = static_cast<double>(count - 1), step = (high - low) / parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i);
    values[static_cast<std::size_t>(i)] = low + (step == 0 ? at / parts * (high - low) : at * step);
  }
  if (count == 1) values[0] = low;
  if (count > 1) values.back() = high;
  return values;
}

namespace {

// The mapped values as ops read them: the table and its rows where nothing has to be mapped, else a copy.
template <class T>
class Cells {
 public:
  Cells(const Context& ctx, const Samples<T>& X) : values(std::as_const(X.table->X).view()), rows(X.row_view()) {
    if (X.is_affine() || X.is_sparse()) values = copied_.emplace(ctx, X).view(), rows = {};
  }
  MatrixView<const T> values;
  VectorView<const std::int32_t> rows;

 private:
  std::optional<OwnValues<T>> copied_;
};

}   // namespace

template <class T>
std::vector<double> column_quantiles(const Context& ctx, const Samples<T>& X, const std::vector<double>& q) {
  const Array<double> shares(ctx.memory(), std::span<const double>(q));
  Matrix<double> out(ctx.memory(), static_cast<std::int64_t>(q.size()), X.n_cols());
  const Cells<T> cells(ctx, X);
  ctx.ops<T>().columns->column_quantiles(cells.values, cells.rows, shares.view(), out.view());
  return out.to_host();
}

template <class T>
ColumnCentres column_centres(const Context& ctx, const Samples<T>& X, ColumnCentre centre_kind,
                             const std::vector<T>& missing) {
  const Cells<T> cells(ctx, X);
  const Array<T> holes(ctx.memory(), std::span<const T>(missing));
  Array<double> centre(ctx.memory(), X.n_cols());
  Array<std::int64_t> present(ctx.memory(), X.n_cols());
  ctx.ops<T>().columns->column_centres(centre_kind, cells.values, cells.rows, holes.view(), centre.view(),
                                       present.view());
  return {centre.to_host(), present.to_host()};
}

template <class T>
std::vector<NumberCounts<T>> column_counts(const Context& ctx, const Samples<T>& X,
                                           std::span<const std::int32_t> columns) {
  const Cells<T> cells(ctx, X);
  return ctx.ops<T>().columns->count_numbers(cells.values, cells.rows, columns);
}

template <class T>
Samples<T> selected_rows(const Context& ctx, const Samples<T>& X, const std::vector<std::int64_t>& positions) {
  const std::vector<std::int32_t> rows = X.rows ? X.rows->to_host() : std::vector<std::int32_t>();
  std::vector<std::int32_t> chosen;
  for (const std::int64_t i : positions)
    chosen.push_back(X.rows ? rows[static_cast<std::size_t>(i)] : static_cast<std::int32_t>(i));
  Samples<T> result = X;
  result.content.clear();
  result.rows = std::make_shared<Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(chosen));
  return result;
}

template <class T>
Samples<T> weighted_rows(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) {
  if (std::ranges::find(weights, 0.0) == weights.end()) return X;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) kept.push_back(static_cast<std::int64_t>(i));
  return selected_rows(ctx, X, kept);
}

// The rows of a transpose are columns.
template <class T>
Samples<T> selected_sparse(const Context& ctx, const Samples<T>& X, VectorView<const std::int32_t> columns) {
  const CsrMatrix<T> all = unscaled_columns(ctx, X), some = taken_rows(ctx, all.view(), columns);
  return samples_of(transposed(ctx, some.view()));
}

template <class T>
Samples<T> selected_columns(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns) {
  const Array<std::int32_t> taken(ctx.memory(), std::span<const std::int32_t>(columns));
  Samples<T> result;
  if (X.is_sparse()) {
    result = selected_sparse(ctx, X, taken.view());
  } else {
    Matrix<T> out = table_matrix<T>(ctx.device, X.n_rows(), taken.size());
    if (!columns.empty())
      ctx.ops<T>().categories->take_columns(std::as_const(X.table->X).view(), X.row_view(), taken.view(), out.view());
    result = samples_of(std::move(out));
  }
  if (X.table->is_finite && *X.table->is_finite) result.table->is_finite = true;
  for (const std::int32_t j : columns) {
    const auto at = static_cast<std::size_t>(j);
    if (!X.table->features.empty()) result.table->features.push_back(X.table->features[at]);
    if (X.is_affine()) result.shift.push_back(X.shift[at]), result.scale.push_back(X.scale[at]);
  }
  return result;
}

template <class T>
bool has_only_finite(const Context& ctx, const Samples<T>& X) {
  Table<T>& table = *X.table;
  if (!table.is_finite) table.is_finite = !first_nonfinite(ctx, table);
  return *table.is_finite;
}

namespace {

// Before the columns that leave double are read again.
template <class T>
PresentMoments plain_moments(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) {
  const Array<double> device_weights(ctx.memory(), std::span<const double>(weights));
  Array<double> count(ctx.memory(), X.n_cols()), mean(ctx.memory(), X.n_cols()), variance(ctx.memory(), X.n_cols());
  const MatrixView<const T> table = std::as_const(X.table->X).view();
  const bool clean = has_only_finite(ctx, X);
  if (X.is_sparse())
    ctx.ops<T>().sparse->moments(unscaled_columns(ctx, X).view(), device_weights.view(), mean.view(), variance.view());
  else if (clean)
    ctx.ops<T>().tables->column_moments(table, X.row_view(), device_weights.view(), mean.view(), variance.view());
  else
    ctx.ops<T>().columns->present_moments(table, X.row_view(), device_weights.view(), count.view(), mean.view(),
                                          variance.view());
  PresentMoments moments{{}, mean.to_host(), variance.to_host(), {}};
  const double total = weights.empty() ? static_cast<double>(X.n_rows()) : std::accumulate(weights.begin(), weights.end(), 0.0);
  moments.count = clean ? std::vector<double>(moments.mean.size(), total) : count.to_host();
  for (std::size_t j = 0; j < X.shift.size(); ++j) {
    moments.mean[j] = (moments.mean[j] - X.shift[j]) * X.scale[j];
    moments.variance[j] *= X.scale[j] * X.scale[j];
  }
  for (std::size_t j = 0; j < moments.mean.size(); ++j) {
    const bool is_constant = is_constant_column(moments.variance[j], moments.mean[j], moments.count[j]);
    moments.deviation.push_back(is_constant ? 0.0 : std::sqrt(moments.variance[j]));
  }
  return moments;
}

// Whether the square of the deviation may have lost digits, or overflowed. Zeros are among these columns.
bool is_doubtful(double mean, double variance) {
  constexpr double kSmallSquare = 0x1p-900, kSmallMean = 0x1p-400;   // beside a larger mean, a smaller square is rounding
  constexpr double kLargeMean = 0x1p400;                             // the bound of a constant column is a square of it
  const double size = std::abs(mean);
  return !std::isfinite(variance) || !(size <= kLargeMean) || (variance < kSmallSquare && size < kSmallMean);
}

template <class T>
void read_again(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights, const std::vector<std::int32_t>& columns,
                const std::vector<double>& factors, PresentMoments& moments) {
  const PresentMoments scaled = plain_moments(ctx, multiplied(ctx, selected_columns(ctx, X, columns), factors), weights);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto j = static_cast<std::size_t>(columns[c]);
    moments.mean[j] = scaled.mean[c] / factors[c];
    moments.deviation[j] = scaled.deviation[c] / factors[c];
    moments.variance[j] = moments.deviation[j] * moments.deviation[j];
  }
}

}  // namespace

template <class T>
PresentMoments present_moments(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) {
  PresentMoments moments = plain_moments(ctx, X, weights);
  std::vector<std::int32_t> columns;
  std::vector<double> factors;
  for (std::size_t j = 0; j < moments.mean.size() && X.n_rows() > 0; ++j) {
    if (!is_doubtful(moments.mean[j], moments.variance[j])) continue;
    const Ranges ranges = table_ranges(ctx, X);
    const double largest = std::fmax(std::abs(ranges.minimum[j]), std::abs(ranges.maximum[j]));
    if (largest > 0 && std::isfinite(largest)) columns.push_back(static_cast<std::int32_t>(j)), factors.push_back(near_one(largest));
  }
  if (!columns.empty()) read_again(ctx, X, weights, columns, factors, moments);
  return moments;
}

template <class T>
void refuse_infinite(const Context& ctx, const char* owner, const Samples<T>& X) {
  if (has_only_finite(ctx, X)) return;
  const Ranges ranges = column_ranges(ctx, X);
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j)
    require(!std::isinf(ranges.minimum[j]) && !std::isinf(ranges.maximum[j]), schema::ErrorCode::kBadData,
            "{}: column {} has an infinite value, must be finite or missing (NaN)", owner,
            X.table->column_label(static_cast<std::int64_t>(j)));
}

bool is_constant_column(double variance, double mean, double count) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  const double mean_error = count * mean * kEps;
  return variance <= count * kEps * variance + mean_error * mean_error;
}

template <class T>
std::vector<T> host_rows(const Context& ctx, const Samples<T>& X) {
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  std::vector<T> host(static_cast<std::size_t>(values.size()));
  if (!host.empty()) ctx.memory().to_host(host.data(), values.data, host.size() * sizeof(T));
  return host;
}

double weighted_mean(std::span<const double> values, std::span<const double> weights) {
  long double sum = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double w = weights.empty() ? 1.0 : weights[i];
    sum += w * static_cast<long double>(values[i]), total += w;
  }
  return static_cast<double>(sum / total);
}

std::vector<double> weighted_quantiles(std::span<const double> values, std::span<const double> weights, std::span<const double> q,
                                       bool average) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return std::isnan(values[i]) || weights[i] == 0; });
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(q.size(), std::numeric_limits<double>::quiet_NaN()), sums;
  if (order.empty()) return result;
  double sum = 0;
  for (const std::size_t i : order) sums.push_back(sum += weights[i]);
  for (std::size_t k = 0; k < q.size(); ++k) {
    const double share = std::max(q[k] * sums.back(), std::numeric_limits<double>::denorm_min());
    const auto at = std::min(static_cast<std::size_t>(std::ranges::lower_bound(sums, share) - sums.begin()), order.size() - 1);
    const std::size_t next = std::min(at + 1, order.size() - 1);
    const bool exactly = sums[at] - share <= std::numeric_limits<double>::epsilon();
    result[k] = average && exactly ? (values[order[at]] + values[order[next]]) / 2 : values[order[at]];
  }
  return result;
}

template std::vector<double> column_quantiles(const Context&, const Samples<float>&, const std::vector<double>&);
template std::vector<double> column_quantiles(const Context&, const Samples<double>&, const std::vector<double>&);
template ColumnCentres column_centres(const Context&, const Samples<float>&, ColumnCentre, const std::vector<float>&);
template ColumnCentres column_centres(const Context&, const Samples<double>&, ColumnCentre, const std::vector<double>&);
template std::vector<NumberCounts<float>> column_counts(const Context&, const Samples<float>&,
                                                        std::span<const std::int32_t>);
template std::vector<NumberCounts<double>> column_counts(const Context&, const Samples<double>&,
                                                         std::span<const std::int32_t>);
template Samples<float> selected_rows(const Context&, const Samples<float>&, const std::vector<std::int64_t>&);
template Samples<double> selected_rows(const Context&, const Samples<double>&, const std::vector<std::int64_t>&);
template Samples<float> weighted_rows(const Context&, const Samples<float>&, const std::vector<double>&);
template Samples<double> weighted_rows(const Context&, const Samples<double>&, const std::vector<double>&);
template Samples<float> selected_columns(const Context&, const Samples<float>&, const std::vector<std::int32_t>&);
template Samples<double> selected_columns(const Context&, const Samples<double>&, const std::vector<std::int32_t>&);
template bool has_only_finite(const Context&, const Samples<float>&);
template bool has_only_finite(const Context&, const Samples<double>&);
template void refuse_infinite(const Context&, const char*, const Samples<float>&);
template void refuse_infinite(const Context&, const char*, const Samples<double>&);
template PresentMoments present_moments(const Context&, const Samples<float>&, const std::vector<double>&);
template PresentMoments present_moments(const Context&, const Samples<double>&, const std::vector<double>&);
template std::vector<float> host_rows(const Context&, const Samples<float>&);
template std::vector<double> host_rows(const Context&, const Samples<double>&);

}  // namespace kedge::engine
