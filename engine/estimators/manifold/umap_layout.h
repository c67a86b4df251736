// Places that move: drawn together along the edges of a graph, and apart from others by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/manifold/fuzzy_set.h"

namespace kedge::engine {

// n places of `dims` coordinates each, one after another.
struct Layout {
  std::int64_t n = 0, dims = 2;
  std::vector<float> coordinates;
};

struct LayoutMoves {
  NearnessCurve curve;
  double learning_rate = 1, repulsion = 1;
  std::int64_t negatives = 5, epochs = 200;   // negatives: places by chance for each edge that pulls
  std::uint64_t seed = 0;
};

// An edge of weight w pulls in w / largest of all epochs, twice in each. An epoch has several steps, each with its part
// of the edges; in a step every place moves by all its edges and draws at once, and all see each other where they were
// before it. So neither threads nor the order of places decide anything, where the algorithm's own form moves one place
// after another. Weights are symmetric; forces are within 1e-5 of their exact values. Errors: kCancelled. Cost: epochs
// x edges x negatives. Returns the epoch in which a place stopped being a number, after which it ends; 0: none did. On
// a GPU it is the last epoch. Source: McInnes, Healy, Melville, "UMAP", arXiv 1802.03426, algorithm 5.
std::int64_t move_places(const Context& ctx, const Affinities& graph, const LayoutMoves& moves, Layout& layout);

// The mean loss of the edges by their weights: the cross entropy of their ends' nearness on the curve, log(1 + a d^2b).
double edge_loss(const Affinities& graph, const NearnessCurve& curve, const Layout& layout);

// The same for one place, `at`, that is new among places which stay; the draws are the same for each new place.
void move_new_place(const LayoutMoves& moves, const Layout& fixed, const std::vector<std::int32_t>& neighbors,
                    const std::vector<float>& shares, float* at);

}   // namespace kedge::engine
