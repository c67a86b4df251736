// Steps of a network whose numbers lie in the device's memory, so that they can be recorded
// (engine/backend/recorded_steps.h) and done again for the next batch.
#pragma once

#include <cstdint>

#include "engine/backend/ops/network.h"
#include "engine/core/portability.h"

namespace kedge::engine {

// What differs between the batches of an epoch.
struct BatchNumbers {
  std::int64_t first = 0;           // place of its first row in the epoch's order
  std::int64_t step = 0;            // of the fit, from 0
  double rate = 0, shrinkage = 0;   // as in DescentStep
};

// The batches of an epoch, and where the device is among them.
struct BatchQueue {
  VectorView<const BatchNumbers> all;
  VectorView<std::int64_t> next;   // one number: the batch that take_batch() takes
  VectorView<BatchNumbers> now;    // one: of the batch that it took last
};

// The stream of a step's draws for one of up to 2^24 layers.
KEDGE_HD constexpr std::uint64_t dropout_stream(std::int64_t step, std::uint64_t layer) {
  return static_cast<std::uint64_t>(step) << 24 | layer;
}

// Beside NetworkOps. None of these takes a number of the batch from the host, and each gives the bits of the op that
// does.
template <class T>
class BatchOps {
 public:
  virtual ~BatchOps() = default;
  // The next batch, which has out.rows rows: rows[i] = order[first + i], and out[i] = X[rows[i]].
  virtual void take_batch(const BatchQueue& queue, MatrixView<const T> X, VectorView<const std::int32_t> order,
                          VectorView<std::int32_t> rows, MatrixView<T> out) = 0;
  // NetworkOps::drop() by dropout_stream(step, layer) of the batch.
  virtual void drop_in_batch(const BatchQueue& queue, double rate, std::uint64_t seed, std::uint64_t layer,
                             MatrixView<T> Z) = 0;
  // NetworkOps::descend() with the batch's rate and shrinkage instead of the step's. Then the queue goes on.
  virtual void descend_in_batch(const BatchQueue& queue, const DescentStep& step, VectorView<const T> gradient,
                                VectorView<T> parameters, VectorView<T> first, VectorView<T> second,
                                VectorView<double> sums) = 0;
};

// Null on devices that record no steps.
template <class T>
BatchOps<T>* batch_ops(NetworkOps<T>& network) {
  return dynamic_cast<BatchOps<T>*>(&network);
}

}   // namespace kedge::engine
