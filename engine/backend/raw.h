// The pointers behind views, for the bodies of the ops alone: they know whose memory it is. tests/layering.py refuses
// this header elsewhere.
#pragma once

#include "engine/core/array.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
constexpr T* raw(DevicePointer<T> pointer) {
  return ViewAccess::address(pointer);
}
template <class T>
constexpr T* raw(VectorView<T> view) {
  return raw(view.data);
}
template <class T>
constexpr T* raw(MatrixView<T> view) {
  return raw(view.data);
}
template <class T>
T* raw(Array<T>& array) {
  return raw(array.data());
}
template <class T>
const T* raw(const Array<T>& array) {
  return raw(array.data());
}
template <class T>
T* raw(Matrix<T>& matrix) {
  return raw(matrix.data());
}
template <class T>
const T* raw(const Matrix<T>& matrix) {
  return raw(matrix.data());
}

}   // namespace kedge::engine
