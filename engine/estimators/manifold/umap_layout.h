// Places that move: drawn together along the edges of a graph, and apart from others by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/manifold/fuzzy_set.h"

namespace kedge::engine {

// Coordinates of n places, each coordinate of all places in a row.
struct Layout {
  std::int64_t n = 0, dims = 2;
  std::vector<float> coordinates;   // dims x n
};

struct LayoutMoves {
  NearnessCurve curve;
  double learning_rate = 1, repulsion = 1;
  std::int64_t negatives = 5, epochs = 200;   // negatives: places by chance for each edge that pulls
  std::uint64_t seed = 0;
};

// An edge of weight w pulls in w / largest of all epochs. The edges of an epoch are taken in two halves; in each, every
// place moves by its own edges and draws, one after the other, and sees the others where they were before. So neither
// threads nor the order of places decide anything, where the algorithm's own form moves one place after another.
// Weights are symmetric. Errors: kCancelled. Cost: epochs x edges x negatives. Source: McInnes, Healy, Melville,
// "UMAP", arXiv 1802.03426, algorithm 5.
void move_places(const Context& ctx, const Affinities& graph, const LayoutMoves& moves, Layout& layout);

// The same for one place, `at`, that is new among places which stay; the draws are the same for each new place.
void move_new_place(const LayoutMoves& moves, const Layout& fixed, const std::vector<std::int32_t>& neighbors,
                    const std::vector<float>& shares, float* at);

}   // namespace kedge::engine
