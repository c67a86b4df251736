// Owned memory on a device: Array<T>, and Matrix<T>, its row-major two-dimensional form. Move-only.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/device.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Owns `size` elements of device memory, uninitialised unless made from host data. The Memory must outlive it.
template <class T>
class Array {
 public:
  Array() = default;
  Array(Memory& memory, std::int64_t size)
      : memory_(&memory), data_(static_cast<T*>(memory.allocate(static_cast<std::size_t>(size) * sizeof(T)))), size_(size) {}
  Array(Memory& memory, std::span<const T> host) : Array(memory, static_cast<std::int64_t>(host.size())) {
    if (!host.empty()) memory.to_device(data_, host.data(), host.size_bytes());
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept { Array(std::move(other)).swap(*this); return *this; }
  ~Array() { if (memory_) memory_->deallocate(data_); }

  DevicePointer<T> data() { return data_; }
  DevicePointer<const T> data() const { return data_; }
  std::int64_t size() const { return size_; }
  VectorView<T> view() { return {data_, size_}; }
  VectorView<const T> view() const { return {data_, size_}; }

  void zero() { if (size_) memory_->zero(data_, static_cast<std::size_t>(size_) * sizeof(T)); }
  // Copies to the host and waits for it.
  std::vector<T> to_host() const {
    std::vector<T> host(static_cast<std::size_t>(size_));
    if (size_) memory_->to_host(host.data(), data_, host.size() * sizeof(T));
    return host;
  }

 private:
  void swap(Array& other) noexcept {
    std::swap(memory_, other.memory_), std::swap(data_, other.data_), std::swap(size_, other.size_);
  }
  Memory* memory_ = nullptr;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

// rows x cols, row-major, without padding.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(Memory& memory, std::int64_t rows, std::int64_t cols) : values_(memory, rows * cols), rows_(rows), cols_(cols) {}
  Matrix(Memory& memory, std::int64_t rows, std::int64_t cols, std::span<const T> host)
      : values_(memory, host), rows_(rows), cols_(cols) {}

  DevicePointer<T> data() { return values_.data(); }
  DevicePointer<const T> data() const { return values_.data(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  MatrixView<T> view() { return {values_.data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {values_.data(), rows_, cols_}; }
  void zero() { values_.zero(); }
  std::vector<T> to_host() const { return values_.to_host(); }

 private:
  Array<T> values_;
  std::int64_t rows_ = 0, cols_ = 0;
};

}  // namespace kedge::engine
