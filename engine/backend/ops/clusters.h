// Nearest centres and the steps of k-means.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/ops/moving_centers.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class ClusterOps {
 public:
  virtual ~ClusterOps() = default;

  // labels[i] = the row of `centers` nearest to row i of X by Euclidean distance; exact, of equal distances the first.
  // Returns how many labels differ from what they held. Fused: no rows x centers matrix is stored. Waits.
  virtual std::int64_t assign_nearest(MatrixView<const T> X, MatrixView<const T> centers,
                                      VectorView<std::int32_t> labels) = 0;
  // squared[i] = |X[i] - centers[labels[i]]|^2.
  virtual void squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers,
                                   VectorView<const std::int32_t> labels, VectorView<double> squared) = 0;
  // Row c of sums (centers x columns + 1): the sum of weights[i] * X[i, :] over the rows with labels[i] = c, then that
  // of their weights. Empty weights mean 1.
  virtual void label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels,
                          VectorView<const double> weights, MatrixView<double> sums) = 0;
  // A step of k-means++: least[c, i] = min(closest[i], |X[i] - X[candidates[c]]|^2), totals[c] = sum_i weights[i] *
  // least[c, i]. Empty closest means infinity, empty weights 1.
  virtual void nearest_within(MatrixView<const T> X, VectorView<const std::int32_t> candidates,
                              VectorView<const T> closest, VectorView<const double> weights, MatrixView<T> least,
                              VectorView<double> totals) = 0;
  // found[e] = the first i where the sum of weights[j] * values[j] over j <= i reaches thresholds[e], or the last i.
  virtual void cumulative_search(VectorView<const T> values, VectorView<const double> weights,
                                 VectorView<const double> thresholds, VectorView<std::int32_t> found) = 0;
  // assign_nearest() and label_sums() of the same rows for centres that move, without work on rows that provably stay
  // where they are. labels start at -1 and are written by the object alone; it borrows all three. Empty weights mean 1.
  virtual std::unique_ptr<MovingCenters<T>> follow_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                           VectorView<std::int32_t> labels) = 0;
};

}   // namespace kedge::engine
