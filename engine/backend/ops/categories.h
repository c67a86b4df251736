// Columns of categories and of missing cells; codes of classes.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class CategoryOps {
 public:
  virtual ~CategoryOps() = default;

  // out[i, c] = X[rows[i], columns[c]], a column any number of times.
  virtual void take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                            VectorView<const std::int32_t> columns, MatrixView<T> out) = 0;
  // out[i, j] = what the dictionary of column j says of X[rows[i], j]. Its keys, ascending and without NaN, are
  // keys[offsets[j] .. offsets[j + 1] - 1], the answers lie in `values` at the same places; NaN gives missing[j], a
  // cell that is no key unknown[j].
  virtual void translate(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                         VectorView<const std::int64_t> offsets, VectorView<const T> keys, VectorView<const T> values,
                         VectorView<const T> missing, VectorView<const T> unknown, MatrixView<T> out) = 0;
  // out[i, positions[i, j]] = 1 for each position in 0 .. out.cols - 1, the rest 0. Positions are integers.
  virtual void one_hot(MatrixView<const T> positions, MatrixView<T> out) = 0;
  // X[i, j] = fill[j] where X[i, j] is missing[j]; a NaN there matches NaN.
  virtual void fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) = 0;
  // out[i, c] = 1 where X[i, columns[c]] is missing[columns[c]], otherwise 0.
  virtual void mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                            MatrixView<T> out) = 0;
  // counts[c] = how many of `codes`, each in 0 .. counts.size - 1, are c.
  virtual void count_codes(VectorView<const std::int32_t> codes, VectorView<std::int64_t> counts) = 0;
  // out[i] = to[codes[i]], each code in 0 .. to.size - 1. `out` may be `codes`.
  virtual void map_codes(VectorView<const std::int32_t> codes, VectorView<const std::int32_t> to,
                         VectorView<std::int32_t> out) = 0;
};

}   // namespace kedge::engine
