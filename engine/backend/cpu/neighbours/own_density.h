// DBSCAN's components where each rank has its own rows of the points alone: two ways to bring points together.
#pragma once

#include "engine/backend/cpu/neighbours/density.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {

// For any number of columns: the rows of all ranks go round in pieces of 8 MiB, and each rank looks for the neighbours
// of its own among them. All pairs are looked at, each by one rank.
template <class T>
void ring_density(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job);

// For few columns: space is divided into a cell for each rank, with about as many points, which move to it. A rank has
// a tree of the points of its cell and of its halo: those of other cells that are within the distance of its points'
// box. False, and nothing was done, where that would be too much of the table for a rank. Weights are added in any
// order.
template <class T>
bool halo_density(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job);

}   // namespace kedge::engine
