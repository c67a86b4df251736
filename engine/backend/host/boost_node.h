// A node of a boosted tree while it grows, what its children get from it, and how it is written down: the same for
// every way to grow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/host/boost_search.h"
#include "engine/backend/host/boost_table.h"

namespace kedge::engine {

struct BoostRules {
  std::int64_t max_leaves = 31, max_depth = 0;   // 0: no limit
  std::int64_t min_samples_leaf = 20;
  double l2 = 0, learning_rate = 0.1;
  double max_features = 1;                               // share of the columns that a node looks at
  std::uint64_t seed = 0;                                // of the columns drawn, and of what gradients are rounded by
  std::vector<std::int8_t> monotonic;                    // by column, 1, 0 or -1; empty: none
  std::vector<std::vector<std::int32_t>> interactions;   // sets of columns that may be cut below each other; empty: all
  std::vector<std::int32_t> order;                       // of the columns: of equal cuts the first in it counts
};

struct BoostNode {
  CutNode cuts;                      // what its cuts depend on
  double value_low, value_high;      // bounds of its own value
  std::int64_t begin = 0, end = 0;   // of its rows
  std::int32_t depth = 0, id = 0;    // id: in the tree
  std::vector<std::int32_t> sets;    // of interactions that it may still follow
  BoostCut cut;
  std::int64_t size() const { return end - begin; }
  // Whether its gain, and then its number, is less: best leaves are cut first.
  bool is_worse(const BoostNode& than) const {
    return cut.gain != than.cut.gain ? cut.gain < than.cut.gain : id > than.id;
  }
};

// Errors: kBadData for tree `number` (from 0) where derivatives are not finite.
void require_finite_gradients(bool are_finite, std::uint64_t number);

// The node of all rows.
BoostNode boost_root(const BoostRules& rules, std::int64_t n_rows, BoostSum sum);
// Whether it has enough rows for a cut, and is not too deep.
bool may_cut(const BoostRules& rules, const BoostNode& node);
// The children of a node by its cut, n_left of its rows in the left one; without numbers.
std::pair<BoostNode, BoostNode> boost_children(const CutJudge& judge, const BoostRules& rules, const BoostNode& parent,
                                               std::int64_t n_left);
// By column, 1 where a node of tree `number` may look at it: what interactions leave, and of that a random share.
std::vector<std::uint8_t> allowed_columns(const BoostRules& rules, std::int64_t n_cols, std::uint64_t number,
                                          const BoostNode& node);
// By code, 1 where the cut sends it to the left.
std::array<std::uint8_t, 256> left_codes(const BoostCut& cut, const BoostColumn& column);

// Appends the node, a leaf so far, and numbers it. root: the tree's first place in the forest.
void append_node(BoostForest& forest, std::int64_t root, BoostNode& node);
// Gives a node its cut; missing values go where more rows go if the fit has seen none. left: number of its left child.
void put_cut(BoostForest& forest, std::int64_t root, std::span<const BoostColumn> columns, const BoostNode& node,
             std::int32_t left, std::int64_t n_left);

}   // namespace kedge::engine
