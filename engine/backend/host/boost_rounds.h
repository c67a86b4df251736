// Grows a boosted tree in few rounds, for a device that is slow to ask and fast to count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/host/boost_node.h"

namespace kedge::engine {

// A node while its tree grows. Rows lie in two lists; those of a node lie in one of them, those of its children in the
// other, at the same places.
struct RoundNode : BoostNode {
  RoundNode() = default;
  explicit RoundNode(BoostNode&& node) : BoostNode(std::move(node)) {}
  std::int32_t left = -1;        // child, which the right one follows; -1: not parted
  std::int32_t list = 0;         // of its rows
  std::int32_t histogram = -1;   // for the device
};

// A node that a round parts, and whether cuts of its children are wanted.
struct RoundPart {
  std::int32_t node;
  bool is_searched;
};

// A leaf of the finished tree, and rows of it that lie together: all of them, unless it was parted in vain.
struct RoundLeaf {
  std::int32_t node = 0;   // number in the tree
  std::int64_t n_rows = 0;
  double low = 0, high = 0;   // bounds of its value
};
struct RoundRows {
  std::int32_t leaf = 0, list = 0;
  std::int64_t begin = 0, n = 0;
};

// The best leaf is cut first, so that which node is cut next is known only when the cuts of the last one's children
// are. A round parts it and, as a guess, what would be cut after it if these children were no better: as many rounds as
// the tree is deep, about, instead of one for each cut. The finished tree has what growth cut by cut gives it, no more.
// Where nodes draw columns by their numbers, nothing is guessed. O(nodes * log(nodes)) a round.
class BoostRounds {
 public:
  // Borrows both.
  BoostRounds(std::span<const BoostColumn> columns, const BoostRules& rules);

  // Begins tree `number`: node 0 has n_rows rows.
  void begin(std::uint64_t number, std::int64_t n_rows);
  // Sums of all rows and the best cut of node 0.
  void set_root(const CutJudge& judge, BoostSum sum, const BoostCut& cut);
  // What to part now, with children made, whose cuts are still to be set; empty: the tree is grown.
  std::span<const RoundPart> next();
  // The grown tree, appended to the forest; leaves without values.
  void finish(BoostForest& forest);

  std::vector<RoundNode>& nodes() { return nodes_; }
  std::vector<std::uint8_t> allowed(const BoostNode& node) const {
    return allowed_columns(rules_, std::ssize(columns_), number_, node);
  }
  const std::vector<RoundLeaf>& leaves() const { return leaves_; }   // of the finished tree
  const std::vector<RoundRows>& rows() const { return rows_; }
  // Of the finished tree: the nodes that are cut, in the order in which they were.
  const std::vector<std::int32_t>& cut_nodes() const { return cut_; }

 private:
  void part(std::int32_t at, std::int32_t left_id, bool is_searched);
  void put_rows(std::int32_t leaf, std::int32_t at);

  std::span<const BoostColumn> columns_;
  const BoostRules& rules_;
  CutJudge judge_;
  std::uint64_t number_ = 0;
  std::vector<RoundNode> nodes_;
  std::vector<RoundPart> parts_;
  std::vector<std::int32_t> heap_, cut_;
  std::vector<RoundLeaf> leaves_;
  std::vector<RoundRows> rows_;
};

}   // namespace kedge::engine
