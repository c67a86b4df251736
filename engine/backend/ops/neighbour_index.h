// Points prepared for neighbour searches: nearest, within a distance, and the density clusters of DBSCAN.
#pragma once

#include <cstdint>

#include "engine/backend/distance.h"
#include "engine/core/view.h"

namespace kedge::engine {

// In few columns a k-d tree, otherwise a scan that stores no distances: both exact, with the same bits. Made by
// DistanceOps::index_points(); borrows the points and the operations. Views are memory of their device. Distances are
// reduced (distance.h), computed in double. One caller at a time. Results do not depend on the device or the number of
// threads, except for the order stated at list_within().
template <class T>
class NeighbourIndex {
 public:
  virtual ~NeighbourIndex() = default;

  // The k nearest points of each query, nearest first, of equal distances the lower index. indices, reduced: queries.rows x k.
  // 1 <= k <= points; on a GPU k <= 1024.
  virtual void nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) = 0;
  // counts[i] = points whose reduced distance to query i is at most `limit`.
  virtual void count_within(MatrixView<const T> queries, double limit, VectorView<std::int32_t> counts) = 0;
  // Those points of query i, from position offsets[i] on, in an order that is the same on every device. offsets are
  // cumulated counts.
  virtual void list_within(MatrixView<const T> queries, double limit, VectorView<const std::int64_t> offsets,
                           VectorView<std::int32_t> indices, VectorView<T> reduced) = 0;
  // A point is core if the weights (empty: 1 each) of the points within `limit`, itself included, reach `least`.
  // component[i] = the lowest core point that i is connected with through core points, each within `limit` of the next;
  // for other points the lowest such of their core neighbours, or -1. Waits.
  virtual void density_components(double limit, double least, VectorView<const double> weights, VectorView<std::uint8_t> core,
                                  VectorView<std::int32_t> component) = 0;
};

}   // namespace kedge::engine
