// The minimum spanning tree of points, by which single linkage and HDBSCAN join them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/distance.h"
#include "engine/core/context.h"

namespace kedge::engine {

// Joins row b to the tree, in which row a was.
struct TreeEdge {
  std::int32_t a, b;
  double length;    // of the edge: the distance, or the reach of a row where that is more; reduced
  double between;   // the distance alone, reduced
};

// The edges of the tree over n rows of `dims` numbers, from row 0 on. reach: for each row the least length of its
// edges, reduced; empty: 0. Of edges of equal length the one between the nearer rows is taken, of those the one of the
// lower rows. Up to kKdColumns columns by join_parts(); otherwise n^2 / 2 distances are made, and none is stored.
// Errors: kCancelled. Source: Prim, "Shortest connection networks and some generalizations", Bell System Technical
// Journal 1957.
std::vector<TreeEdge> spanning_tree(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                    std::int64_t dims, const Distance& distance, std::span<const double> reach);

}   // namespace kedge::engine
