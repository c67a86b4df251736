// How strongly rows belong to the neighbourhoods of others, each measured by its own distances: what UMAP is to keep.
#pragma once

#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/manifold/affinities.h"

namespace kedge::engine {

// exp(-(distance - nearest) / width) of each neighbour, 1 up to the nearest one; the width lets those behind the first
// sum up to log2 k. Distances ascend. local_connectivity: which neighbour is the nearest, between two where it is no
// whole number; 0 for none. The row itself, where own_rows, gets 0. Errors: kCancelled.
// Source: McInnes, Healy, Melville, "UMAP", arXiv 1802.03426.
std::vector<double> memberships(const Context& ctx, const NeighborLists& lists, double local_connectivity,
                                bool own_rows);

// 1 / (1 + a d^2b): how near places at a distance d are.
struct NearnessCurve {
  double a, b;
};
// The curve nearest, in least squares, to 1 up to min_dist and exp(-(d - min_dist) / spread) beyond, on [0, 3 spread].
NearnessCurve nearness_curve(double spread, double min_dist);

}   // namespace kedge::engine
