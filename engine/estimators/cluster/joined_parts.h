// The spanning tree of rows of few columns, by parts that grow together until one is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/distance.h"
#include "engine/backend/ops/spanning_tree.h"
#include "engine/core/context.h"

namespace kedge::engine {

// The edges of spanning_tree(), in no order, for 2 rows or more of 1 to kKdColumns columns. Each round, every part but
// the largest takes its least edge, which a k-d tree finds; a row is asked again only when its nearest row has joined
// its part and it may have a less edge than the part. Errors: kCancelled.
// Source: Boruvka, 1926, in Nesetril, Milkova, Nesetrilova, "Otakar Boruvka on minimum spanning tree problem", 2001;
// March, Ram, Gray, "Fast Euclidean minimum spanning tree", KDD 2010, for nodes of a tree whose rows are of one part.
std::vector<SpanningEdge> join_parts(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                     std::int64_t dims, const Distance& distance, std::span<const double> reach);

}   // namespace kedge::engine
