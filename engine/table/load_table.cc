// Copies the selected part of a mapped data set to the device: scaled, converted, and checked for values that no
// estimator can use.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/backend/linked_tables.h"
#include "engine/core/gpu_memory.h"
#include "engine/core/host_view.h"
#include "engine/core/require.h"
#include "engine/table/row_source.h"
#include "engine/table/selection.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;   // how often a cancel is looked for

template <class T, class S>
void fill_in_place(const Context& ctx, const RowSource<S>& source, MatrixView<T> X) {
  const std::int64_t row_bytes = X.cols * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t chunk = std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, X.rows);
  for (std::int64_t first = 0; first < X.rows; first += chunk) {
    ctx.check_stop();
    const std::int64_t count = std::min(chunk, X.rows - first);
    copy_rows(source, first, count, host_view(X.row_range(first, count)).row(0).data());
  }
}

// Rows are converted into the buffer from which a GPU takes them, while it copies those before. Memory of another kind,
// and a row that no buffer can take, of more than some 500,000 columns, is sent from memory of its own.
template <class T, class S>
void fill_by_upload(const Context& ctx, const RowSource<S>& source, MatrixView<T> X) {
  GpuMemory* const gpu = gpu_memory(ctx.memory());
  const auto row_bytes = static_cast<std::size_t>(X.cols) * sizeof(T);
  const bool fits = gpu && row_bytes <= gpu->upload_bytes();
  const auto chunk = static_cast<std::int64_t>(fits ? gpu->upload_bytes() / row_bytes : 1 + kChunkBytes / row_bytes);
  std::vector<std::byte> own;
  for (std::int64_t first = 0; first < X.rows; first += chunk) {
    ctx.check_stop();
    const std::int64_t count = std::min(chunk, X.rows - first);
    const std::size_t bytes = static_cast<std::size_t>(count) * row_bytes;
    const auto write = [&](std::byte* to) { copy_rows(source, first, count, reinterpret_cast<T*>(to)); };
    void* const target = X.row_range(first, count).data;
    if (fits) {
      gpu->upload(target, bytes, write);
    } else {
      own.resize(bytes);
      write(own.data());
      ctx.memory().to_device(target, own.data(), bytes);
      ctx.memory().synchronize();   // its memory is used again
    }
  }
}

// Rows are converted where the GPU will read them.
template <class T, class S>
void fill_linked(const Context& ctx, const RowSource<S>& source, LinkedMemory& link, MatrixView<T> X) {
  const std::int64_t row_bytes = X.cols * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t chunk = std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, X.rows);
  for (std::int64_t first = 0; first < X.rows; first += chunk) {
    ctx.check_stop();
    const std::int64_t count = std::min(chunk, X.rows - first);
    void* const target = X.row_range(first, count).data;
    link.write(target, static_cast<std::size_t>(count * row_bytes),
               [&](std::byte* to) { copy_rows(source, first, count, reinterpret_cast<T*>(to)); });
  }
}

template <class T, class S>
void fill(const Context& ctx, const RowSource<S>& source, Matrix<T>& X) {
  if (X.rows() == 0 || X.cols() == 0) return;
  if (ctx.device.traits().uses_host_memory) return fill_in_place(ctx, source, X.view());
  if (LinkedMemory* const link = table_link(ctx.device, X.rows() * X.cols() * static_cast<std::int64_t>(sizeof(T))))
    return fill_linked(ctx, source, *link, X.view());
  fill_by_upload(ctx, source, X.view());
}

// The first cell that is infinite as T, in a column that has one. Nothing if the table only lacks values.
template <class T, class S>
std::optional<Cell> find_infinite(const Context& ctx, const RowSource<S>& source, const Table<T>& table) {
  const std::int64_t n_cols = table.X.cols();
  Array<T> low(ctx.memory(), n_cols), high(ctx.memory(), n_cols);
  ctx.ops<T>().tables->column_range(table.X.view(), {}, low.view(), high.view());   // ignores NaN
  const std::vector<T> minimum = low.to_host(), maximum = high.to_host();
  for (std::int64_t j = 0; j < n_cols; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (minimum[at] != -std::numeric_limits<T>::infinity() && maximum[at] != std::numeric_limits<T>::infinity()) continue;
    const double scale = source.scales.empty() ? source.selection.scale : source.scales[at];
    for (std::int64_t i = 0; i < source.selection.n_rows; ++i)
      if (std::isinf(static_cast<T>(source.at(i, j) * scale))) return Cell{i, j};
  }
  return std::nullopt;
}

template <class T, class S>
std::shared_ptr<Table<T>> load_from(const Context& ctx, const RowSource<S>& source) {
  auto table = std::make_shared<Table<T>>();
  table->X = table_matrix<T>(ctx.device, source.selection.n_rows, source.selection.n_cols());
  fill(ctx, source, table->X);
  table->features = source.selection.features;
  std::optional<Cell> cell = ctx.ops<T>().tables->find_nonfinite(std::as_const(table->X).view());
  table->is_finite = !cell;
  if (cell && source.selection.accepted.nan) cell = find_infinite<T>(ctx, source, *table);
  if (cell) refuse_value(source, *cell, std::is_same_v<T, float> ? "float32" : "float64");
  return table;
}

}  // namespace

template <class T>
std::shared_ptr<Table<T>> load_table(const Context& ctx, const Selection& selection, const DatasetFile& data) {
  if (data.meta().is_sparse()) return load_sparse_table<T>(ctx, selection, data);
  if (data.meta().is_float32) return load_from<T>(ctx, RowSource<float>(data.values_f32(), data.meta(), selection));
  return load_from<T>(ctx, RowSource<double>(data.values_f64(), data.meta(), selection));
}

template std::shared_ptr<Table<float>> load_table(const Context&, const Selection&, const DatasetFile&);
template std::shared_ptr<Table<double>> load_table(const Context&, const Selection&, const DatasetFile&);

}  // namespace kedge::engine
