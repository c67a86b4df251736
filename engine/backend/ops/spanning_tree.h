// What a device that finds spanning trees itself has beside DistanceOps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/backend/ops/distances.h"

namespace kedge::engine {

// Between rows a < b. length: the distance, or the reach of a row where that is more; between: the distance. Reduced.
struct SpanningEdge {
  std::int32_t a, b;
  double length, between;
};

class SpanningTreeOps {
 public:
  virtual ~SpanningTreeOps() = default;

  // The n - 1 edges, in no order, of the tree over the rows of `points` whose edges are least by length and then by
  // distance. reach: for each row the least length of its edges; empty: 0. Distances are summed column after column, so
  // that they have the host's bits. Nothing where two edges that compete are equal in both, so that there are several
  // such trees; where a metric's terms differ by device (powers that are not whole); and for fewer than 2 rows. Calls
  // pause(edges), which may throw, now and then. O(rounds n^2 d), no distance is stored; a round at least halves the
  // parts, and asks again only for rows whose nearest row of another part has joined their own. Waits.
  // Source: Boruvka, 1926, in Nesetril, Milkova, Nesetrilova, "Otakar Boruvka on minimum spanning tree problem", 2001.
  virtual std::optional<std::vector<SpanningEdge>> spanning_edges(MatrixView<const double> points,
                                                                  const Distance& distance,
                                                                  VectorView<const double> reach,
                                                                  const std::function<void(std::int64_t)>& pause) = 0;
};

// Null where the host's threads find them.
template <class T>
SpanningTreeOps* spanning_tree_ops(DistanceOps<T>& distances) {
  return dynamic_cast<SpanningTreeOps*>(&distances);
}

}   // namespace kedge::engine
