// Rows of a table whose columns are set to other values, one after the other.
#pragma once

#include <numeric>
#include <vector>

#include "engine/estimators/samples.h"

namespace kedge::engine {

// Some rows of a dense table, repeated `copies` times, as a table of their own. Resource.
template <class T>
class EditedRows {
 public:
  EditedRows(const Context& ctx, const Samples<T>& X, std::int64_t copies) : ctx_(ctx), n_cols_(X.n_cols()) {
    Matrix<T> gathered;
    const MatrixView<const T> from = X.values(ctx, gathered);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(from.rows * copies));
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(from.rows));
    const Array<std::int32_t> on_device(ctx.memory(), rows);
    samples_.table = std::make_shared<Table<T>>();
    samples_.table->X = Matrix<T>(ctx.memory(), from.rows * copies, n_cols_);
    samples_.table->features = X.table->features;
    ctx.ops<T>().tables->gather(from, on_device.view(), {}, {}, samples_.table->X.view());
  }

  // Cell i of the column becomes source[rows[i], place].
  void set(std::int64_t column, MatrixView<const T> source, std::int32_t place, VectorView<const std::int32_t> rows) {
    Table<T>& table = *samples_.table;
    const Array<std::int32_t> places(ctx_.memory(), std::vector<std::int32_t>{place});
    const MatrixView<T> cells(table.X.data() + column, table.X.rows(), 1, n_cols_);
    ctx_.ops<T>().categories->take_columns(source, rows, places.view(), cells);
    table.binned.reset(), table.is_finite.reset(), table.ranges.reset(), table.parts.clear();   // of what it was
  }

  const Samples<T>& samples() const { return samples_; }

 private:
  const Context& ctx_;
  std::int64_t n_cols_;
  Samples<T> samples_;
};

}   // namespace kedge::engine
