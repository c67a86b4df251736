// The forces that draw the points of an embedding together, along the edges of a graph.
#pragma once

#include <cstdint>

#include "engine/estimators/manifold/repulsion.h"

namespace kedge::engine {

// The edges of one point.
struct Entries {
  const std::int32_t* columns;
  const float* weights;
  std::int64_t count;
};

struct Pull {
  double force[kMostDims];
};

// sum_j weight w (y_i - y_j) in float32, with w of Repulsion; points: dims x n.
Pull pull(const float* points, std::int64_t n, int dims, std::int64_t i, Entries entries);

}   // namespace kedge::engine
