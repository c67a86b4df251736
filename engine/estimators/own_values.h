// Values of samples where ranks divide the sums over their rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/core/demand_rows.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// As Samples::values(), which copies all rows that an affine map changes. Within a RowSumsScope, on the host, a rank
// copies its own rows, and others when they are read. Borrows the context and the samples.
template <class T>
class OwnValues {
 public:
  OwnValues(const Context& ctx, const Samples<T>& X);
  MatrixView<const T> view() const { return values_; }

 private:
  Matrix<T> scratch_;
  std::optional<DemandRows<T>> rows_;
  Matrix<T> demanded_;   // of rows_
  MatrixView<const T> values_;
};

// The rows of X less `mean`, in double, as CentredDesign has them; for all rows of a dense table as OwnValues. Borrows
// the context and the samples.
template <class T>
class OwnCentredValues {
 public:
  OwnCentredValues(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean);
  MatrixView<const double> view() const { return values_.view(); }

 private:
  Samples<T> centred_;
  std::optional<DemandRows<double>> rows_;
  Matrix<double> values_;   // of rows_, if there are any
};

// The samples at these positions, which ascend. Where ranks divide the sums over the rows of X, each gives all others
// those of its own, so that none reads rows of others.
template <class T>
Samples<T> drawn_rows(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& positions);

// The values of the samples at these positions, which ascend, in double, for what the first rank stores. Where
// has_own_rows(), each rank brings those of its own, one rank after the other, and only the first gets them.
template <class T>
std::vector<double> rows_of_first_rank(const Context& ctx, const Samples<T>& X,
                                       const std::vector<std::int32_t>& positions);

// Whether X is all rows of a table of which this rank has its own (engine/table/own_rows.h, or made_rows()), and ranks
// divide the sums over them. The same on every rank.
template <class T>
bool has_own_rows(const Context& ctx, const Samples<T>& X);

// A new row, made of the cells of one row of X, mapped: no allocation, no exception (DemandMemory::Make).
template <class T>
using MakeRow = std::function<void(const T* cells, T* out)>;

// New rows for each of X, a column for each feature, where has_own_rows(): each rank makes its own now, and others when
// they are read.
template <class T>
Samples<T> made_rows(const Context& ctx, const Samples<T>& X, std::vector<Feature> features, MakeRow<T> make);

}   // namespace kedge::engine
