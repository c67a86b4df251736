// Builds the k-d trees of kd_search.h on the host, for every device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/kd_search.h"
#include "engine/core/view.h"

namespace kedge::engine {

// A value. Balanced: a node's leaves are halved at the median of the widest column of its box. O(n log n), on the threads of
// side_by_side() where that pays; the same tree on every machine. Source: Friedman, Bentley, Finkel, ACM TOMS 3(3), 1977.
template <class T>
struct KdTree {
  std::vector<std::int32_t> order;
  std::vector<T> blocks, boxes;
  std::int64_t n = 0, d = 0;
  std::int32_t leaves = 0;

  explicit KdTree(MatrixView<const T> points);   // host memory; at least one row, all finite
  KdView<T> view() const { return {order.data(), blocks.data(), boxes.data(), n, d, leaves}; }
};

}  // namespace kedge::engine
