// Rows of a kernel matrix in float that stay on the device, those that were used least recently given up first.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "engine/backend/ops/support_vectors.h"
#include "engine/estimators/svm/kernel_points.h"

namespace kedge::engine {

// What KernelRows is where the device solves working sets itself: the same values, none of which the host gets. A
// resource, for one thread.
class DeviceRows {
 public:
  // X: m x d on the device, borrowed. Keeps as many rows as fit into cache_bytes, at least two working sets.
  template <class T>
  DeviceRows(const Context& ctx, SupportVectorOps& ops, const KernelChoice& choice, MatrixView<const T> X, double tol,
             std::int64_t cache_bytes);

  std::int64_t size() const { return m_; }
  bool is_double() const { return points_.is_double; }   // how the products are computed
  SupportVectorOps& ops() { return ops_; }
  // The values between kSmoSet rows (device), which need not be kept; until the next call.
  MatrixView<const float> square(VectorView<const std::int32_t> rows);
  // Where the rows, at most a working set, each once, lie in kept(): until the next load().
  std::vector<std::int32_t> load(std::span<const std::int32_t> rows);
  MatrixView<const float> kept() const { return kept_.view(); }

 private:
  template <class E>
  Matrix<E> products(const KernelPoints<E>& points, VectorView<const std::int32_t> rows, bool with_all) const;
  void compute(std::span<const std::int32_t> rows, std::span<const std::int32_t> places);

  const Context& ctx_;
  SupportVectorOps& ops_;
  KernelChoice choice_;
  std::int64_t m_;
  EitherPoints points_;
  Matrix<float> kept_, square_;
  std::list<std::int32_t> by_use_;                          // places, the one that was used least recently first
  std::vector<std::list<std::int32_t>::iterator> use_of_;   // of each place
  std::vector<std::int32_t> place_of_, row_in_;             // -1: none
};

}   // namespace kedge::engine
