// Borrowed, typed views of memory on one device: a vector, and a row-major matrix with a row stride.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kedge::engine {

template <class T>
class DevicePointer;

// Only raw.h of the backend and host_view.h may name it; tests/layering.py keeps that.
struct ViewAccess {
  template <class T>
  static constexpr T* address(DevicePointer<T> pointer) {
    return pointer.address_;
  }
};

// The address of elements in a device's memory, which may be a GPU's. It can be moved, compared and handed to Memory
// (as void*), but not read: the pointer itself is for the backend (raw(), engine/backend/raw.h) and for host_view().
template <class T>
class DevicePointer {
  using Address = std::conditional_t<std::is_const_v<T>, const void, void>*;

 public:
  constexpr DevicePointer() = default;
  constexpr DevicePointer(T* address) : address_(address) {}
  template <class U>
    requires std::is_same_v<const U, T>
  constexpr DevicePointer(DevicePointer<U> other) : address_(ViewAccess::address(other)) {}
  constexpr operator Address() const { return address_; }
  constexpr DevicePointer operator+(std::int64_t elements) const { return address_ + elements; }
  constexpr DevicePointer operator-(std::int64_t elements) const { return address_ - elements; }

 private:
  friend struct ViewAccess;
  T* address_ = nullptr;
};

// Borrows; never stored beyond the call it is passed to. The memory belongs to the device of the op that receives it.
template <class T>
struct VectorView {
  DevicePointer<T> data;
  std::int64_t size = 0;

  constexpr VectorView() = default;
  constexpr VectorView(DevicePointer<T> data, std::int64_t size) : data(data), size(size) {}
  template <class U> requires std::is_same_v<const U, T>
  constexpr VectorView(VectorView<U> v) : data(v.data), size(v.size) {}
  bool empty() const { return size == 0; }
  VectorView slice(std::int64_t first, std::int64_t count) const { return {data + first, count}; }
};

// Element (i, j) is data[i * stride + j]; stride >= cols, in elements.
template <class T>
struct MatrixView {
  DevicePointer<T> data;
  std::int64_t rows = 0, cols = 0, stride = 0;

  constexpr MatrixView() = default;
  constexpr MatrixView(DevicePointer<T> data, std::int64_t rows, std::int64_t cols)
      : MatrixView(data, rows, cols, cols) {}
  constexpr MatrixView(DevicePointer<T> data, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : data(data), rows(rows), cols(cols), stride(stride) {}
  template <class U> requires std::is_same_v<const U, T>
  constexpr MatrixView(MatrixView<U> m) : data(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}
  std::int64_t size() const { return rows * cols; }
  MatrixView row_range(std::int64_t first, std::int64_t count) const { return {data + first * stride, count, cols, stride}; }
  MatrixView last_columns(std::int64_t count) const { return {data + cols - count, rows, count, stride}; }
};

}  // namespace kedge::engine
