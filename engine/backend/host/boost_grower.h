// Grows one tree of boosting on bytes, best leaf first, from histograms of integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/host/boost_node.h"
#include "engine/backend/host/boost_ranks.h"
#include "engine/backend/host/boost_search.h"
#include "engine/backend/host/boost_table.h"

namespace kedge::engine {

// Leaf of the tree that was grown last: its node in the tree, its rows as positions in rows(), and the bounds of its
// value.
struct BoostLeaf {
  std::int32_t node = 0;
  std::int64_t begin = 0, end = 0;
  double low = 0, high = 0, value = 0;   // value: learning rate included
};

// Grows trees on one table. Gradients and second derivatives of a row become whole numbers: those of float32 up to
// 8,192 rows; beyond, of 16 and 12 bits, rounded at random by row number, so that one number of 64 bits holds both and
// a count, and sums of many rows are right. Sums of integers have no order: the tree is the same at any number of
// threads, and of ranks, which divide the columns (BoostRanks). Leaves predict by sums of 62 bits. O(columns * (rows in
// smaller children + leaves * 256)). Borrows the table and the rules. Not thread safe.
class BoostGrower {
 public:
  BoostGrower(const BoostTable& table, const BoostRules& rules);

  // Grows tree `number` and appends it to the forest, its leaves valued by Newton steps within bounds. hessians: empty:
  // 1 each. Both by row. Errors: kBadData where a derivative is not finite.
  void grow(std::span<const double> gradients, std::span<const double> hessians, std::uint64_t number,
            BoostForest& forest);

  const std::vector<BoostLeaf>& leaves() const { return leaves_; }
  std::vector<BoostLeaf>& leaves() { return leaves_; }
  std::span<const std::uint32_t> rows() const { return rows_; }   // leaf by leaf, ascending in each

 private:
  struct Node : BoostNode {
    Node() = default;
    explicit Node(BoostNode&& node) : BoostNode(std::move(node)) {}
    std::int32_t histogram = -1;
  };

  void measure(std::span<const double> gradients, std::span<const double> hessians);
  void quantise(std::span<const double> gradients, std::span<const double> hessians, std::uint64_t number);
  Node root();
  void expand(Node node);
  std::pair<Node, Node> part(const Node& node);
  std::int64_t part_rows(const Node& node);
  void search(std::span<Node* const> nodes, const Node* parent);
  void add_rows(const BoostPiece& piece, const Node& node, BoostSum* histogram) const;
  void add_packed(const BoostPiece& piece, const std::uint8_t* codes, const Node& node, BoostSum* histogram) const;
  void push(Node node);
  void finish(const Node& node);
  std::int32_t take_histogram();
  void value_leaves(std::span<const double> gradients, std::span<const double> hessians);

  const BoostTable& table_;
  const BoostRules& rules_;
  std::vector<std::int64_t> offset_;          // by column: its first place in a histogram
  std::vector<std::vector<BoostSum>> pool_;   // histograms
  std::vector<std::int32_t> free_;            // of them
  std::vector<std::uint32_t> rows_, scratch_;
  std::vector<std::uint64_t> packed_;       // by row: gradient, second derivative and 1, in one number
  std::vector<BoostSum> exact_;             // the same of few rows
  BoostUnits units_{};
  double largest_gradient_ = 0, largest_hessian_ = 0;
  std::uint64_t number_ = 0;
  CutJudge judge_;
  std::vector<Node> heap_;   // nodes that can be cut, the best first
  std::vector<BoostLeaf> leaves_;
  BoostForest* forest_ = nullptr;
  std::optional<BoostRanks> ranks_;   // of this tree
  std::int64_t root_id_ = 0;
  BoostSum root_sum_{};
};

}   // namespace kedge::engine
