// Queries that a fast way left, put together for a slower one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

// answer(queries, indices, squared) for rows `left` of the queries, its answers put where they belong.
template <class T, class Answer>
void answer_left_over(MatrixView<const T> queries, const std::vector<std::int64_t>& left, MatrixView<std::int32_t> indices,
                      MatrixView<T> squared, const Answer& answer) {
  if (left.empty()) return;
  const auto n = static_cast<std::int64_t>(left.size()), d = queries.cols, k = indices.cols;
  std::vector<T> some(static_cast<std::size_t>(n * d)), distances(static_cast<std::size_t>(n * k));
  std::vector<std::int32_t> found(distances.size());
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(raw(queries) + left[static_cast<std::size_t>(i)] * queries.stride, d, some.begin() + i * d);
  answer(MatrixView<const T>(some.data(), n, d, d), MatrixView<std::int32_t>(found.data(), n, k, k),
         MatrixView<T>(distances.data(), n, k, k));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = left[static_cast<std::size_t>(i)];
    std::copy_n(found.begin() + i * k, k, raw(indices) + row * indices.stride);
    std::copy_n(distances.begin() + i * k, k, raw(squared) + row * squared.stride);
  }
}

}   // namespace kedge::engine
