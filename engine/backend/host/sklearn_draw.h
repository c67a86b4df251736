// scikit-learn's random numbers of trees, in its order: RandomState seeds the trees and draws their rows, a xorshift
// generator their columns and random cuts. Source: scikit-learn, ensemble/_forest.py (_set_random_states,
// _generate_sample_indices), tree/_splitter.pyx (node_split_best, node_split_random), utils/_random.pxd (our_rand_r);
// the same from 1.4 to 1.9.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// The seeds of trees, made once for a forest.
class TreeSeeds {
 public:
  // Of the trees first .. first + n_trees - 1. None where the options' draws are not scikit-learn's.
  TreeSeeds(const ForestOptions& options, std::int64_t first, std::int64_t n_trees);
  // 0 where there are none.
  std::uint32_t of(std::int64_t tree) const {
    return seeds_.empty() ? 0 : seeds_[static_cast<std::size_t>(tree - first_)];
  }

 private:
  std::int64_t first_;
  std::vector<std::uint32_t> seeds_;
};

// How often each position in [0, n) is drawn for the tree with this seed is added to `counts`.
void draw_rows_as_sklearn(const ForestOptions& options, std::uint32_t tree_seed, std::int64_t n,
                          std::vector<std::uint32_t>& counts);

// Draws the columns of the nodes of a tree, in the order in which scikit-learn visits the nodes: a draw depends on all
// draws before it, and on which columns were found to be constant. Not thread safe.
class SklearnColumnDraw {
 public:
  explicit SklearnColumnDraw(std::int64_t n_cols);

  void start_tree(std::uint32_t seed);

  // Draws up to max_features columns of a node, and more only while all of them are constant; those that vary go to
  // `columns`, in the order drawn, and where `words` is given a word for the random cut of each. n_known: how many
  // columns the parent knew to be constant, 0 for the root. Returns how many are known now, for the node's children.
  template <class IsConstant>
  std::uint32_t draw(std::uint32_t n_known, std::int64_t max_features, const IsConstant& is_constant,
                     std::vector<std::uint32_t>& columns, std::vector<std::uint32_t>* words = nullptr);

 private:
  std::uint32_t next() {
    if (state_ == 0) state_ = 1;
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return state_ & 0x7fffffffu;
  }

  std::uint32_t state_ = 0;
  std::vector<std::uint32_t> order_,
      constant_;   // constant_: the first of `order_` that are known, as the parent left them
};

// `order_` holds, one after the other: constant columns that were known and drawn, known and not drawn, found here,
// columns not drawn, columns that were drawn and vary.
template <class IsConstant>
std::uint32_t SklearnColumnDraw::draw(std::uint32_t n_known, std::int64_t max_features, const IsConstant& is_constant,
                                      std::vector<std::uint32_t>& columns, std::vector<std::uint32_t>* words) {
  columns.clear();
  if (words) words->clear();
  auto end = static_cast<std::uint32_t>(order_.size());
  std::uint32_t n_drawn = 0, n_found = 0;   // of the constant ones
  for (std::int64_t visited = 0; end > n_known + n_found && (visited < max_features || columns.empty()); ++visited) {
    std::uint32_t at = n_drawn + next() % (end - n_found - n_drawn);
    if (at < n_known) {
      std::swap(order_[n_drawn++], order_[at]);
      continue;
    }
    at += n_found;
    const std::uint32_t column = order_[at];
    if (is_constant(column)) {
      std::swap(order_[at], order_[n_known + n_found++]);
      continue;
    }
    std::swap(order_[--end], order_[at]);
    columns.push_back(column);
    if (words) words->push_back(next());
  }
  for (std::uint32_t i = 0; i < n_known; ++i) order_[i] = constant_[i];   // siblings and children find the same order
  for (std::uint32_t i = n_known; i < n_known + n_found; ++i) constant_[i] = order_[i];
  return n_known + n_found;
}

}   // namespace kedge::engine
