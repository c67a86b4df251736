// What every fit and transform checks about its input, with messages that name the estimator and what it got.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/require.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/samples.h"
#include "schemas/value.h"

namespace kedge::engine {

// Errors: kBadData, "PCA: got 1 rows, needs at least 2"; also for no columns.
template <class T>
void require_rows(const char* owner, const Samples<T>& X, std::int64_t minimum = 1) {
  require(X.n_rows() >= minimum, schema::ErrorCode::kBadData, "{}: got {} rows, needs at least {}", owner, X.n_rows(),
          minimum);
  require(X.n_cols() >= 1, schema::ErrorCode::kBadData, "{}: got no columns, needs at least 1", owner);
}

// X as the estimator takes it: a dense copy of sparse samples where it takes no sparse ones, or where values are missing. Errors:
// kBadData for categories or missing values that it does not take, naming the column, and for a table too large to be made dense.
template <class T>
Samples<T> accepted(const Context& ctx, std::string_view owner, const Estimator<T>& estimator, const Samples<T>& X) {
  if (!estimator.accepts_categories()) require_numeric(owner, X);
  if (!estimator.accepts_nan()) require_finite(ctx, owner, X);
  if (!X.is_sparse()) return X;
  if (!X.table->is_finite) X.table->is_finite = !first_nonfinite(ctx, *X.table);
  return estimator.accepts_sparse() && *X.table->is_finite ? X : densified(ctx, owner, X);
}

// Errors: kBadData if X has not the columns that the estimator was fitted with.
template <class T>
void require_fitted_columns(const char* owner, const Samples<T>& X, std::size_t fitted) {
  require(X.n_cols() == static_cast<std::int64_t>(fitted), schema::ErrorCode::kBadData,
          "{}: got {} columns, was fitted with {}", owner, X.n_cols(), fitted);
}

// Row-major numbers as a list of rows: how two-dimensional attributes are held.
inline schema::Value rows_value(const std::vector<double>& numbers, std::int64_t cols) {
  schema::ValueList rows;
  for (auto row = numbers.begin(); cols > 0 && row != numbers.end(); row += cols) rows.emplace_back(std::vector<double>(row, row + cols));
  return rows;
}

}  // namespace kedge::engine
