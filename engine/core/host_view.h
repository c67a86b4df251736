// Views whose cells host code may read and write: the one way from a view to its cells outside of the backend.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// Cells of host memory. Borrows, as the views of view.h.
template <class T>
class HostVector {
 public:
  HostVector(T* data, std::int64_t size) : data_(data), size_(size) {}
  T& operator[](std::int64_t i) const { return data_[i]; }
  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

 private:
  T* data_;
  std::int64_t size_;
};

// Rows of host memory; stride >= cols, in elements. Borrows, as the views of view.h.
template <class T>
class HostMatrix {
 public:
  HostMatrix(T* data, std::int64_t rows, std::int64_t cols) : HostMatrix(data, rows, cols, cols) {}
  HostMatrix(T* data, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  HostVector<T> row(std::int64_t i) const { return {data_ + i * stride_, cols_}; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  T* data_;
  std::int64_t rows_, cols_, stride_;
};

// "This memory is the host's." A view does not say where its memory lies, so the caller has to know it: the device says
// DeviceTraits::uses_host_memory. Elsewhere, cells are downloaded (to_host): a view's own pointer cannot be read.
template <class T>
HostVector<T> host_view(VectorView<T> cells) {
  return {ViewAccess::address(cells.data), cells.size};
}
template <class T>
HostMatrix<T> host_view(MatrixView<T> cells) {
  return {ViewAccess::address(cells.data), cells.rows, cells.cols, cells.stride};
}

}   // namespace kedge::engine
