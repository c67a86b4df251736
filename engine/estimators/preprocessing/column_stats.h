// Statistics of columns on the host, as the preprocessing estimators want them: quantiles, moments without what is missing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// numpy.linspace(low, high, count), to the last bit.
std::vector<double> linspace(double low, double high, std::int64_t count);

// q.size() x n_cols, row-major: quantile q[i] (0 to 1) of each column of the mapped values, NaN left out, numpy's method
// "linear".
template <class T>
std::vector<double> column_quantiles(const Context& ctx, const Samples<T>& X, const std::vector<double>& q);

// The centre of each column, the cells that are `missing` (one value a column; NaN always is) left out, and how many
// are left.
struct ColumnCentres {
  std::vector<double> centre;
  std::vector<std::int64_t> present;
};
template <class T>
ColumnCentres column_centres(const Context& ctx, const Samples<T>& X, ColumnCentre centre_kind,
                             const std::vector<T>& missing);

// What some columns of the mapped values are made of.
template <class T>
std::vector<NumberCounts<T>> column_counts(const Context& ctx, const Samples<T>& X,
                                           std::span<const std::int32_t> columns);

// Summed in extended precision; weights may be empty.
double weighted_mean(std::span<const double> values, std::span<const double> weights);

// Moments of the mapped values without what is missing; weights (one per row) may be empty. Where no value is missing, count is
// the sum of the weights in every column. The deviation is the variance's square root, 0 in a constant column (is_constant_column()), and
// right even where the variance leaves double: such columns are read again, multiplied by powers of two.
struct PresentMoments {
  std::vector<double> count, mean, variance, deviation;
};
template <class T>
PresentMoments present_moments(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights = {});

// Rows of these samples by position, in that order and as often as named.
template <class T>
Samples<T> selected_rows(const Context& ctx, const Samples<T>& X, const std::vector<std::int64_t>& positions);

// The samples that weigh more than 0; all for empty weights.
template <class T>
Samples<T> weighted_rows(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights);

// Some of the columns, in that order; keeps their names. What is selected is copied, the affine map stays lazy.
template <class T>
Samples<T> selected_columns(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns);

// Whether the table that X reads has no NaN or infinity; the answer is kept in the table.
template <class T>
bool has_only_finite(const Context& ctx, const Samples<T>& X);

// For an estimator that takes missing values (of sparse samples: none are missing). Errors: kBadData "OWNER: column 'age' has an infinite value ...".
template <class T>
void refuse_infinite(const Context& ctx, const char* owner, const Samples<T>& X);

// The error bound of the two-pass variance (Chan, Golub and LeVeque 1983): at or below it, a column counts as constant.
bool is_constant_column(double variance, double mean, double count);

// The mapped values on the host, row-major.
template <class T>
std::vector<T> host_rows(const Context& ctx, const Samples<T>& X);

// Quantiles of weighted values as scikit-learn defines them: the smallest value at which the weights up to it reach the share q
// of all; with `average`, the mean of it and the next where they reach it exactly. NaN weighs nothing.
std::vector<double> weighted_quantiles(std::span<const double> values, std::span<const double> weights, std::span<const double> q,
                                       bool average);

// Column j of row-major numbers.
template <class T>
std::vector<double> column_of(const std::vector<T>& numbers, std::int64_t cols, std::int64_t j) {
  std::vector<double> column;
  for (std::size_t at = static_cast<std::size_t>(j); at < numbers.size(); at += static_cast<std::size_t>(cols))
    column.push_back(static_cast<double>(numbers[at]));
  return column;
}

}  // namespace kedge::engine
