// A graph of the rows whose edges say how alike they are, and the vectors that a walk along its edges changes least.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/estimators/kernels/kernel_matrix.h"
#include "engine/estimators/kernels/leading_eigenpairs.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// D^-1/2 A D^-1/2 of the affinities A without their diagonal, D their sums over rows; dense or sparse, on the device.
struct AffinityGraph {
  std::int64_t n = 0;
  Matrix<double> dense;
  CsrMatrix<double> sparse;
  std::vector<double> roots;    // of the sums; 1 of rows without a neighbour
  std::int64_t lone_rows = 0;   // without a neighbour
  std::string cure = {};        // what to change where rows lie too far apart: "lower gamma"

  bool is_sparse() const { return dense.rows() == 0; }
};

inline constexpr std::int64_t kMostGraphNeighbors = 1024;   // that a search finds

// (N + N') / 2, N having a 1 for each of the k nearest rows, by Euclidean distance, of each row, itself counted.
// Errors: kBadData for fewer rows than k.
template <class T>
AffinityGraph graph_of_neighbors(const Context& ctx, const char* owner, const Samples<T>& X, std::int64_t k);
// The kernel of each pair of rows. Errors: kBadData for a row whose affinities have a negative sum.
template <class T>
AffinityGraph graph_of_kernel(const Context& ctx, const char* owner, const Samples<T>& X, const KernelChoice& kernel);
// The values themselves, the mean of both where they are not symmetric. Errors: kBadData unless they are as many rows
// as columns, and as for kernels.
template <class T>
AffinityGraph graph_of_matrix(const Context& ctx, const char* owner, const Samples<T>& X);
AffinityGraph graph_of_affinities(const Context& ctx, const Affinities& affinities);

// The largest eigenvalues of the graph's matrix and their vectors. Errors: kBadData where the solver does not end.
Eigenpairs graph_eigenpairs(const Context& ctx, const char* owner, AffinityGraph& graph, std::int64_t count,
                            double residual = kRoundingResidual);

// The eigenvectors of the graph's normalised Laplacian for the `count` least eigenvalues, ascending, each divided by
// `roots` and with a positive largest coordinate: n rows of count numbers, as scikit-learn's spectral_embedding() with
// drop_first=False. Warns where the graph falls into parts, or nearly, and where eigenvalues do not differ, with the
// graph's cure. Errors: kBadData where the solver does not end.
// Source: Shi, Malik, "Normalized cuts and image segmentation", PAMI 22(8), 2000.
std::vector<double> spectral_map(const Context& ctx, const char* owner, AffinityGraph graph, std::int64_t count);

// What graph and map take at their worst moment: of a matrix of all pairs, or of k neighbours of each row.
std::int64_t dense_graph_bytes(std::int64_t rows, std::int64_t count);
std::int64_t sparse_graph_bytes(std::int64_t rows, std::int64_t k, std::int64_t count);

}   // namespace kedge::engine
