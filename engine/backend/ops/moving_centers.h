// The nearest centres of rows, found again and again while the centres move: the iterations of k-means.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// Made by ClusterOps::follow_centers(); borrows the rows, their weights, their labels and the operations. Views are
// memory of their device. One caller at a time. Results are those of assign_nearest() and label_sums(), to the bit.
template <class T>
class MovingCenters {
 public:
  virtual ~MovingCenters() = default;

  // Makes the labels those of `centers`, as many in each call; returns how many changed. Waits.
  virtual std::int64_t assign(MatrixView<const T> centers) = 0;
  // Sums of the rows and of their weights by label, centers x (columns + 1).
  virtual void sum(MatrixView<double> sums) = 0;
};

}   // namespace kedge::engine
