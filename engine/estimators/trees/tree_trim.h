// What can be made of grown trees: fewer trees, shallower ones, pruned ones, and what they say about the columns.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/trees.h"
#include "schemas/value.h"

namespace kedge::engine {

// The first n_trees trees, as if they had been grown with this max_depth; trees must not have been grown best first.
Forest first_trees(const Forest& forest, std::int64_t n_trees, std::int64_t max_depth);

// Minimal cost-complexity pruning: each tree becomes its smallest subtree whose impurity plus alpha times its leaves is least.
// Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 3.
Forest pruned(const Forest& forest, double alpha);

// Mean over the trees of each column's share in the decrease of impurity.
std::vector<double> feature_importances(const Forest& forest);

// The first tree as scikit-learn's tree_: its arrays, node_count, n_leaves and max_depth.
schema::ValueMap tree_arrays(const Forest& forest);

}  // namespace kedge::engine
