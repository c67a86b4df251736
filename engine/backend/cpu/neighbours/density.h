// DBSCAN's components on the CPU: core points by counting, joined in a union-find that threads share.
#pragma once

#include "engine/backend/cpu/neighbours/pair_scan.h"
#include "engine/backend/kd_search.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {

// The question to NeighbourIndex::density_components(), and where the answer goes.
struct DensityJob {
  double limit, least;
  VectorView<const double> weights;
  VectorView<std::uint8_t> core;
  VectorView<std::int32_t> component;
};

template <class T>
void tree_density(const KdView<T>& tree, MatrixView<const T> points, const Distance& distance, const DensityJob& job);

// Memory in addition to the scan: the pairs within the distance, if they are fewer than 64 million. Otherwise every
// pair is computed twice.
template <class T>
void scan_density(const PairScan<T>& scan, const DensityJob& job);

// The same where a rank has its own rows of the points alone (demand_memory.h). It gets those of others in pieces, or
// a halo of them. False, and nothing was done: the sums of these weights depend on their order, which is that of a tree
// over all points. The same on every rank.
template <class T>
bool density_of_own_rows(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job);

}  // namespace kedge::engine
