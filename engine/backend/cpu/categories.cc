// Categories and missing cells on the CPU: take columns, look cells up in dictionaries, one-hot codes, fill in what is missing.
#include <algorithm>

#include "engine/backend/category_functors.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLookupNs = 8;   // about what one search among keys takes

}  // namespace

template <class T>
void CpuColumns<T>::take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                                 VectorView<const std::int32_t> columns, MatrixView<T> out) {
  for_rows(out.rows, out.cols, [&](std::int64_t i) {
    const T* const in = row_at(X, rows, i);
    for (std::int64_t c = 0; c < out.cols; ++c) out.data[i * out.stride + c] = in[columns.data[c]];
  });
}

template <class T>
void CpuColumns<T>::translate(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int64_t> offsets,
                              VectorView<const T> keys, VectorView<const T> values, VectorView<const T> missing,
                              VectorView<const T> unknown, MatrixView<T> out) {
  for_rows(out.rows, out.cols * kLookupNs, [&](std::int64_t i) {
    const T* const in = row_at(X, rows, i);
    for (std::int64_t j = 0; j < out.cols; ++j) {
      const std::int64_t first = offsets.data[j];
      out.data[i * out.stride + j] = translated(in[j], keys.data + first, values.data + first, offsets.data[j + 1] - first,
                                                missing.data[j], unknown.data[j]);
    }
  });
}

template <class T>
void CpuColumns<T>::one_hot(MatrixView<const T> positions, MatrixView<T> out) {
  for_rows(out.rows, out.cols / 4 + positions.cols, [&](std::int64_t i) {
    T* const row = out.data + i * out.stride;
    std::fill_n(row, out.cols, T{0});
    for (std::int64_t j = 0; j < positions.cols; ++j) {
      const T position = positions.data[i * positions.stride + j];
      if (is_column(position, out.cols)) row[static_cast<std::int64_t>(position)] = T{1};
    }
  });
}

template <class T>
void CpuColumns<T>::fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) {
  for_rows(X.rows, X.cols, [&](std::int64_t i) {
    T* const row = X.data + i * X.stride;
    for (std::int64_t j = 0; j < X.cols; ++j) row[j] = is_missing_cell(row[j], missing.data[j]) ? fill.data[j] : row[j];
  });
}

template <class T>
void CpuColumns<T>::mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                                 MatrixView<T> out) {
  for_rows(out.rows, out.cols, [&](std::int64_t i) {
    const T* const in = X.data + i * X.stride;
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const std::int32_t j = columns.data[c];
      out.data[i * out.stride + c] = is_missing_cell(in[j], missing.data[j]) ? T{1} : T{0};
    }
  });
}

template class CpuColumns<float>;
template class CpuColumns<double>;

}  // namespace kedge::engine
