// Convex problems on a Gram matrix.
#pragma once

#include <cstdint>
#include <span>

#include "engine/backend/elastic_net.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class ConvexOps {
 public:
  virtual ~ConvexOps() = default;

  // Solves each path by cyclic (or random) coordinate descent with gap-safe screening, until the duality gap is at most
  // tol * y'y, or max_iter; everything in double. CPU and CUDA reach the same gap, each by the same order of
  // coordinates. Cost: d a coordinate that changes; paths run side by side.
  virtual void elastic_net_paths(std::span<const ElasticNetPath> paths, const ElasticNetOptions& options) = 0;
};

}   // namespace kedge::engine
