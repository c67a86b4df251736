// The rows of a table that a kernel reads, by position.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
struct Selection {
  const T* data;
  std::int64_t stride;
  const std::int32_t* rows;   // null: all, in order
  std::int64_t n, cols;
  __device__ const T* row(std::int64_t i) const { return data + (rows ? std::int64_t{rows[i]} : i) * stride; }
  Selection range(std::int64_t first, std::int64_t count) const {
    return {rows ? data : data + first * stride, stride, rows ? rows + first : nullptr, count, cols};
  }
};

template <class T>
Selection<T> select(MatrixView<const T> X, VectorView<const std::int32_t> rows) {
  return {raw(X), X.stride, rows.empty() ? nullptr : raw(rows), rows.empty() ? X.rows : rows.size, X.cols};
}

}  // namespace kedge::engine
