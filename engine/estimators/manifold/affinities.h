// How near the rows are to each other, as probabilities that sum up to 1: what an embedding is to keep.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

// A symmetric sparse matrix of n rows; the entries of a row are in order of their columns.
struct Affinities {
  std::vector<std::int64_t> row_begin;   // n + 1
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  std::int64_t n_rows() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
};

// The neighbours of each of n rows, k of each: not the row itself. distances: as the Gaussian takes them, squared where
// they are Euclidean.
struct NeighborLists {
  std::int64_t n = 0, k = 0;
  std::vector<std::int32_t> indices;
  std::vector<double> distances;
};

// What P and its transpose make together, p being the values of P in the order of the lists: join(a, b) where both or
// one of them have an entry, the other then 0. join(a, b) = join(b, a); it is called by several threads.
Affinities with_transpose(const NeighborLists& lists, const std::vector<double>& p,
                          const std::function<double(double, double)>& join);

// Gaussians around each row whose width gives its neighbours this perplexity, made symmetric. Errors: kCancelled.
// Source: van der Maaten, Hinton, "Visualizing data using t-SNE", JMLR 2008.
Affinities joint_probabilities(const Context& ctx, const NeighborLists& lists, double perplexity);

}   // namespace kedge::engine
