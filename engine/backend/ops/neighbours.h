// Nearest rows by Euclidean distance, and their votes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class NeighbourOps {
 public:
  virtual ~NeighbourOps() = default;

  // The k nearest rows of `points` for each row of `queries` by squared Euclidean distance, nearest first, equal
  // distances by lower index. Fused: no queries x points matrix is stored. Distances are computed exactly (sum of
  // squared differences in double, rounded to T) for the rows returned. indices, squared: queries.rows x k. 1 <= k <=
  // min(points.rows, 1024).
  virtual void nearest(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
                       MatrixView<T> squared) = 0;
  // The k nearest rows for each row of X among the rows of other groups, as nearest() finds them there, with the
  // indices of X. groups: a number for each row, in host memory; k is at most X.rows less the largest group. Each pair
  // of rows is multiplied once, for both. False, with nothing found, where that saves nothing or needs too much memory:
  // the caller then searches for each group by itself. Calls pause(), which may throw, now and then.
  virtual bool nearest_of_others(MatrixView<const T> X, std::span<const std::int32_t> groups, int k,
                                 const std::function<void()>& pause, MatrixView<std::int32_t> indices,
                                 MatrixView<T> squared) = 0;
  // proba[i, c] = share of the votes for class c among the neighbours of i; each counts 1, or 1/distance (a neighbour
  // at distance 0 then takes all) when by_distance.
  virtual void vote(MatrixView<const std::int32_t> indices, MatrixView<const T> squared,
                    VectorView<const std::int32_t> y, bool by_distance, MatrixView<T> proba) = 0;
};

}   // namespace kedge::engine
