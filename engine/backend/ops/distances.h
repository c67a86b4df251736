// Distances between rows in several metrics, and points prepared for searches.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/distance.h"
#include "engine/backend/ops/neighbour_index.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class DistanceOps {
 public:
  virtual ~DistanceOps() = default;

  // The points (all finite), prepared for searches; borrows them and the operations. O(n log n) in few columns.
  virtual std::unique_ptr<NeighbourIndex<T>> index_points(MatrixView<const T> points, const Distance& distance) = 0;
  // out[i, j] = the distance between row i of X and row j of Y; differences in double, summed as distance.h says,
  // rounded to T.
  virtual void pairwise(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) = 0;
};

}   // namespace kedge::engine
