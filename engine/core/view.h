// Borrowed, typed views of memory on one device: a vector, and a row-major matrix with a row stride.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kedge::engine {

// Borrows; never stored beyond the call it is passed to. The memory belongs to the device of the op that receives it.
template <class T>
struct VectorView {
  T* data = nullptr;
  std::int64_t size = 0;

  constexpr VectorView() = default;
  constexpr VectorView(T* data, std::int64_t size) : data(data), size(size) {}
  template <class U> requires std::is_same_v<const U, T>
  constexpr VectorView(VectorView<U> v) : data(v.data), size(v.size) {}
  bool empty() const { return size == 0; }
  VectorView slice(std::int64_t first, std::int64_t count) const { return {data + first, count}; }
};

// Element (i, j) is data[i * stride + j]; stride >= cols, in elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0, stride = 0;

  constexpr MatrixView() = default;
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t cols) : MatrixView(data, rows, cols, cols) {}
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : data(data), rows(rows), cols(cols), stride(stride) {}
  template <class U> requires std::is_same_v<const U, T>
  constexpr MatrixView(MatrixView<U> m) : data(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  std::int64_t size() const { return rows * cols; }
  MatrixView row_range(std::int64_t first, std::int64_t count) const { return {data + first * stride, count, cols, stride}; }
  MatrixView last_columns(std::int64_t count) const { return {data + cols - count, rows, count, stride}; }
};

}  // namespace kedge::engine
